#pragma once
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden_file.h"
#include "train/task.h"

namespace sixfold {

/// The samples of a golden training run, packed.
struct GoldenPairs {
  IdBatch source;  ///< with their end tokens
  IdBatch target;  ///< without start and end
};

/// A run of tests/goldens/make_training_golden.py.
struct GoldenRun {
  GoldenFile file;
  nlohmann::json facts;
  ModelConfig config;
  TrainOptions options;
  GoldenPairs pairs;

  explicit GoldenRun(const std::string& name)
      : file(name),
        facts(nlohmann::json::parse(std::ifstream(SIXFOLD_TEST_GOLDENS "/" + name + ".json"))),
        pairs{{file.ids("source"), file.ragged("source_offsets")},
              {file.ids("target"), file.ragged("target_offsets")}} {
    read_options(parse_json_options(facts.at("model").dump(), name), config);
    read_options(parse_json_options(facts.at("training").dump(), name), options);
  }

  /// What was measured of an update, from 1: "samples", "learning_rate", "loss", "gradient_norm".
  const nlohmann::json& update(int64_t step) const {
    return facts.at("updates").at(static_cast<size_t>(step - 1));
  }
};

class GoldenDataset : public Dataset {
 public:
  GoldenDataset(const GoldenPairs& pairs, TargetEnds ends) : pairs_(pairs), ends_(ends) {}
  std::vector<EpochOrder::Part> parts() const override { return {{pairs_.source.rows.sequences(), 1}}; }
  int64_t tokens(int64_t sample, int64_t /*epoch*/) const override {
    return std::ssize(row(pairs_.source, sample)) + std::ssize(row(pairs_.target, sample)) + 1;
  }
  void add(int64_t sample, int64_t /*epoch*/, BatchBuilder& batch) const override {
    batch.source(row(pairs_.source, sample)).teacher_forced(row(pairs_.target, sample), ends_);
  }
  SampleDescription describe(int64_t sample) const override { return {"pair", {{"", std::to_string(sample)}}}; }
  std::string hash() const override { return "golden"; }

 private:
  static std::span<const int32_t> row(const IdBatch& batch, int64_t sample) {
    const int i = static_cast<int>(sample);
    return std::span(batch.ids).subspan(static_cast<size_t>(batch.rows.begin(i)),
                                        static_cast<size_t>(batch.rows.length(i)));
  }
  GoldenPairs pairs_;
  TargetEnds ends_;
};

class GoldenTask : public Task {
 public:
  explicit GoldenTask(const GoldenRun& golden)
      : config_(golden.config), data_(golden.pairs, golden.config.target_ends()) {}
  const ModelConfig& model_config() const override { return config_; }
  const Dataset& training_data() const override { return data_; }

 private:
  ModelConfig config_;
  GoldenDataset data_;
};

/// The run as the trainer is asked for it, with these options. `golden` must outlive it.
class GoldenConfig : public TaskConfig {
 public:
  GoldenConfig(const GoldenRun& golden, TrainOptions options) : golden_(golden), options_(std::move(options)) {}
  TrainOptions training() const override { return options_; }
  OptionNode options() const override { return write_options(options_); }
  OptionNode read_stored(OptionNode stored) const override { return stored; }
  std::unique_ptr<Task> open(const TaskStart&) const override { return std::make_unique<GoldenTask>(golden_); }

 private:
  const GoldenRun& golden_;
  TrainOptions options_;
};

}  // namespace sixfold
