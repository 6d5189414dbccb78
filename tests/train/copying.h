#pragma once
#include <algorithm>

#include "train/task.h"

namespace sixfold {

/// Rows of digits that an encoder alone learns to copy: a task as small as one can be.
class Digits : public Dataset {
 public:
  explicit Digits(int64_t size) : size_(size) {}
  std::vector<EpochOrder::Part> parts() const override { return {{size_, 1}}; }
  int64_t tokens(int64_t sample, int64_t /*epoch*/) const override { return 2 + sample % 5; }
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < tokens(sample, epoch); ++i)
      ids.push_back(static_cast<int32_t>((7 * sample + 3 * i * i) % 10));
    batch.source(ids).label_source(ids);
  }
  SampleDescription describe(int64_t sample) const override {
    return {"row", {{"length", std::to_string(tokens(sample, 0))}}};
  }
  std::string hash() const override { return "digits " + std::to_string(size_); }

 private:
  int64_t size_;
};

struct CopyingOptions : TrainOptions {
  Architecture model;
  int rows = 200;
};
inline void visit(OptionVisitor& v, CopyingOptions& o) {
  v.group("model", o.model, "the architecture");
  v.field("rows", o.rows, "to learn from", at_least(1));
  visit(v, static_cast<TrainOptions&>(o));
}

class Copying : public Task {
 public:
  explicit Copying(const CopyingOptions& options) : train_(options.rows), valid_(20) {
    static_cast<Architecture&>(config_) = options.model;
    config_.source_vocab = config_.target_vocab = 10;
  }
  const ModelConfig& model_config() const override { return config_; }
  const Dataset& training_data() const override { return train_; }
  const Dataset* validation_data() const override { return &valid_; }
  std::vector<std::string> metrics() const override { return {"accuracy"}; }
  /// The share of digits that are the likeliest at their place.
  Evaluation evaluate(const Transformer& model, const EvaluationRun& run) const override {
    BatchBuilder builder;
    for (int32_t i = 0; i < valid_.size(); ++i) valid_.add(i, 0, builder.sample(i));
    const Batch batch = builder.take();
    Context context(model.backend(), run.arena);
    const auto logits =
        ops::logits(context, model.states(batch, context), model.output()).to_floats(*model.backend());
    double right = 0;
    for (size_t row = 0; row < batch.labels.size(); ++row) {
      const auto begin = logits.begin() + static_cast<ptrdiff_t>(10 * row);
      right += std::max_element(begin, begin + 10) - begin == batch.labels[row];
    }
    return {.scores = {{"accuracy", {right / batch.loss_weight(), true}}}};
  }

 private:
  ModelConfig config_;
  Digits train_, valid_;
};

class CopyingConfig : public TaskConfig {
 public:
  explicit CopyingConfig(const CopyingOptions& options) : options_(options) {}
  TrainOptions training() const override { return options_; }
  OptionNode options() const override { return write_options(options_); }
  OptionNode read_stored(OptionNode stored) const override {
    CopyingOptions options;
    read_options(stored, options);
    return write_options(options);
  }
  std::unique_ptr<Task> open(const TaskStart&) const override { return std::make_unique<Copying>(options_); }

 private:
  CopyingOptions options_;
};

}  // namespace sixfold
