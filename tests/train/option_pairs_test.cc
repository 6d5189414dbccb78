// Settings of optimizers, schedules and of what surrounds them, two at a time.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backend/backend.h"
#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "temporary_folder.h"
#include "train/copying.h"
#include "train/distributed/threads.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

using Settings = std::vector<std::string>;

CopyingOptions options_with(const Settings& settings) {
  OptionNode root{.kind = OptionNode::Kind::map};
  for (const std::string& setting : settings) set_option(root, setting);
  CopyingOptions options;
  options.model.d_model = options.model.d_ff = 16;
  options.model.heads = 2;
  options.model.encoder_layers = 1;
  options.model.decoder_layers = 0;
  options.model.dropout = 0.1f;
  options.data.batch_tokens = 60;
  options.train.updates = 6;
  options.train.threads = 1;
  options.train.precision = Precision::fp32;
  options.schedule.warmup = 2;
  options.schedule.learning_rate = 0.01;
  options.checkpoint.every_updates = 3;
  options.checkpoint.keep_last = 3;
  options.checkpoint.keep_best = false;
  options.validation.every_updates = 1;
  options.log.every_updates = 1;
  read_options(root, options);
  return options;
}

/// Settings of one kind exclude each other.
std::vector<std::vector<Settings>> kinds_of_settings() {
  std::vector<std::vector<Settings>> all{
      {{"optimizer.kind=adafactor"},
       {"optimizer.kind=adafactor", "optimizer.momentum=0.9", "optimizer.scale_parameter=true",
        "optimizer.decay_rate=0.7", "optimizer.clip_threshold=0.5", "optimizer.weight_decay=0.1"},
       {"optimizer.kind=sgd"},
       {"optimizer.kind=sgd", "optimizer.momentum=0.9", "optimizer.nesterov=true",
        "optimizer.weight_decay=0.1"}},
      {{"schedule.kind=noam"},
       {"schedule.kind=inverse_sqrt", "schedule.min_rate=0.004", "schedule.first_rate=0.001"},
       {"schedule.kind=linear", "schedule.min_rate=0.004"},
       {"schedule.kind=constant", "schedule.first_rate=0.001"},
       {"schedule.kind=polynomial", "schedule.power=2"},
       {"schedule.kind=wsd", "schedule.decay=3"},
       {"schedule.kind=plateau", "schedule.plateau_patience=1", "schedule.plateau_factor=0.5"}},
      {{"train.ema_decay=0.9"}},
      {{"train.accumulate=2"}},
      {{"train.clip_norm=0.5"}},
      {{"train.r_drop=2"}},
      {{"train.layer_drop=0.5"}},
      {{"train.average_last=2"}},
      {{"train.on_spike=rollback", "train.spike_factor=1.5"}},
      {{"data.micro_batch_tokens=20"}},
      {{"model.norm=batch"}},
      {{"validation.patience=2"}},
      {{"start.lora_rank=2"},
       {"start.lora_rank=3", "start.lora_alpha=6", "start.lora_projections=[q_proj, fc1]",
        "start.lora_merge=false"}},
      {{"teacher.weight=0.5", "teacher.temperature=2"}},
  };
  if (!bf16_instructions().empty()) all.push_back({{"train.precision=bf16"}});
  return all;
}

/// All files of a checkpoint that determine the rest of a run, and the model of its end.
std::string result_of(const std::string& run) {
  std::vector<std::string> checkpoints;
  for (const auto& entry : fs::directory_iterator(run + "/checkpoints")) checkpoints.push_back(entry.path());
  const std::string last = std::ranges::max(checkpoints);
  return read_file(last + "/model.safetensors") + read_file(last + "/optimizer.safetensors") +
         read_file(run + "/model/model.safetensors");
}

/// A run that one process begins and two go on with ends as a whole one of one process.
void expect_trains(const Settings& settings) {
  const TemporaryFolder folder;
  CopyingOptions options = options_with(settings);
  options.train.shards = 2;
  const bool adapts = options.start.lora_rank > 0, learns = options.teacher.weight != 1;
  if (adapts || learns) {
    CopyingOptions base = options;
    base.start = {};
    base.teacher = {};
    train(CopyingConfig(base), {.run = folder / "base"});
    if (adapts) options.start.model = folder / "base/model";
    if (learns) options.teacher.model = folder / "base/model";
  }
  const CopyingConfig config(options);
  train(config, {.run = folder / "run"});
  const std::string whole = result_of(folder / "run");
  fs::remove_all(folder / "run/model");
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints"))
    if (entry.path().filename() != "update-000000003") fs::remove_all(entry.path());
  on_processes(
      2, [&](Processes& all) { train(config, {.run = folder / "run", .resume = true, .processes = &all}); });
  EXPECT_TRUE(result_of(folder / "run") == whole);
}

class OptionPairs : public testing::TestWithParam<std::pair<size_t, size_t>> {};

/// A setting of an optimizer or a schedule with all of later kinds.
TEST_P(OptionPairs, TrainAndGoOn) {
  const auto kinds = kinds_of_settings();
  const auto& [kind, place] = GetParam();
  const Settings& one = kinds[kind][place];
  const auto check = [&](const Settings& settings) {
    SCOPED_TRACE(join(settings, " "));
    expect_trains(settings);
  };
  check(one);
  for (size_t other = kind + 1; other < kinds.size(); ++other)
    for (Settings both : kinds[other]) {
      both.insert(both.end(), one.begin(), one.end());
      check(both);
    }
}

std::vector<std::pair<size_t, size_t>> places() {
  std::vector<std::pair<size_t, size_t>> all;
  for (size_t kind = 0; kind < 2; ++kind)
    for (size_t i = 0; i < kinds_of_settings()[kind].size(); ++i) all.emplace_back(kind, i);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Kinds, OptionPairs, testing::ValuesIn(places()));

std::string refusal_of(const Settings& settings) {
  try {
    validate(options_with(settings));
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

/// Which kinds have which option.
TEST(OptionsOfKinds, OthersRefuseThemByName) {
  struct Row {
    std::string option;
    std::vector<std::string> kinds;
  };
  const std::vector<std::string> optimizers{"adam", "adafactor", "sgd"},
      schedules{"noam", "inverse_sqrt", "linear", "cosine", "constant", "polynomial", "wsd", "plateau"};
  const std::vector<Row> rows{
      {"optimizer.beta1=0.5", {"adam"}},
      {"optimizer.beta2=0.5", {"adam"}},
      {"optimizer.epsilon=1e-5", {"adam"}},
      {"optimizer.weight_decay=0.5", optimizers},
      {"optimizer.momentum=0.5", {"adafactor", "sgd"}},
      {"optimizer.decay_rate=0.5", {"adafactor"}},
      {"optimizer.clip_threshold=0.5", {"adafactor"}},
      {"optimizer.scale_parameter=true", {"adafactor"}},
      {"schedule.first_rate=0.001",
       {"cosine", "linear", "polynomial", "wsd", "inverse_sqrt", "constant", "plateau"}},
      {"schedule.min_rate=0.001", {"cosine", "linear", "polynomial", "wsd", "inverse_sqrt", "plateau"}},
      {"schedule.power=2", {"polynomial", "wsd"}},
      {"schedule.decay=2", {"wsd"}},
      {"schedule.plateau_factor=0.5", {"plateau"}},
      {"schedule.plateau_patience=2", {"plateau"}},
  };
  for (const auto& [option, kinds] : rows) {
    const std::string group = option.substr(0, option.find('.'));
    for (const std::string& kind : group == "optimizer" ? optimizers : schedules) {
      const std::string said = refusal_of({option, group + ".kind=" + kind});
      if (std::ranges::find(kinds, kind) != kinds.end())
        EXPECT_EQ(said, "") << option << " " << kind;
      else
        EXPECT_EQ(said,
                  fmt::format("{}: {}.kind {} does not have it; leave it out, or choose another kind ({})",
                              option.substr(0, option.find('=')), group, kind, join(kinds, ", ")));
    }
  }
  EXPECT_NE(refusal_of({"optimizer.nesterov=true"}).find("optimizer.nesterov: optimizer.kind adam does not"),
            std::string::npos);
  EXPECT_EQ(refusal_of({"optimizer.kind=sgd", "optimizer.nesterov=true"}),
            "optimizer.nesterov: needs optimizer.momentum");
}

TEST(OptionsOfKinds, RatesAboveThePeakAndPlateausWithoutValidationsAreRefused) {
  EXPECT_EQ(refusal_of({"schedule.min_rate=0.02"}),
            "schedule.min_rate: 0.02 is above the peak, schedule.learning_rate: 0.01");
  EXPECT_EQ(refusal_of({"schedule.first_rate=0.02", "schedule.learning_rate=0"}),
            "schedule.first_rate: needs schedule.learning_rate, the peak");
  EXPECT_EQ(
      refusal_of({"schedule.kind=plateau", "validation.every_updates=0"}),
      "schedule.kind plateau: needs validations; set validation.every_updates or validation.every_epochs");
}

TEST(OptionsOfKinds, WhatCanHaveNoEffectIsSaid) {
  const auto advice = [](const Settings& settings) {
    return join(advice_for(options_with(settings), 6), "\n");
  };
  EXPECT_EQ(advice({"optimizer.kind=sgd"}), "");
  EXPECT_NE(
      advice({"optimizer.kind=sgd", "schedule.learning_rate=0"}).find("schedule.learning_rate is not set"),
      std::string::npos);
  EXPECT_EQ(advice({"schedule.kind=plateau", "validation.patience=4"}), "");
  EXPECT_NE(advice({"schedule.kind=plateau", "validation.patience=3"}).find("validation.patience ends the"),
            std::string::npos);
}

/// Weights that do not change are never better.
TEST(Plateau, LowersTheRateWhereValidationStalls) {
  const TemporaryFolder folder;
  const CopyingOptions options = options_with(
      {"schedule.kind=plateau", "schedule.plateau_patience=2", "schedule.learning_rate=1e-30",
       "schedule.min_rate=2e-33", "schedule.plateau_factor=0.1", "schedule.warmup=1", "train.updates=10"});
  train(CopyingConfig(options), {.run = folder / "run"});
  std::vector<double> rates;
  std::istringstream log(read_file(folder / "run/train.jsonl"));
  for (std::string line; std::getline(log, line);)
    if (const auto entry = nlohmann::json::parse(line); entry.contains("learning_rate"))
      rates.push_back(entry["learning_rate"]);
  const std::vector<double> expected{1e-30, 1e-30, 1e-30, 1e-31, 1e-31, 1e-32, 1e-32, 2e-33, 2e-33, 2e-33};
  ASSERT_EQ(rates.size(), expected.size());
  for (size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], expected[i], 1e-9 * expected[i]) << i;
}

}  // namespace
}  // namespace sixfold
