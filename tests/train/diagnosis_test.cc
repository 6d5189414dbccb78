#include "train/diagnosis.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

using Ids = std::vector<std::string>;

/// Small runs on words that are turned around.
class DiagnosisTest : public TrainerTest {
 protected:
  DiagnosisTest() {
    write_text(folder_ / "train.a", folder_ / "train.b", 2000, 1);
    options_.train.updates = 1000;
    options_.schedule.warmup = 50;
    options_.checkpoint.every_updates = 400;
    options_.validation.every_updates = 250;
    options_.validation.metrics.chosen = {"loss"};
    options_.log.every_updates = 100;
  }

  /// Puts the targets of the training text in another order, so that sources say nothing about them.
  void part_sources_from_targets() { write_text(folder_ / "other.a", folder_ / "train.b", 2000, 3); }
  /// The ids of all diagnoses in the log of a run, in order.
  Ids said(const std::string& name) const {
    Ids ids;
    for (const auto& line : log(name))
      if (line.contains("diagnosis")) ids.push_back(line.at("diagnosis").at("id"));
    return ids;
  }
  Ids said_by_run(const std::string& name = "run") {
    train(options_, {.run = run(name)});
    return said(name);
  }
  static bool has(const Ids& ids, const std::string& id) { return std::ranges::find(ids, id) != ids.end(); }

  /// Trains so fast until update `until`, and then three times as slow.
  TrainRequest at_changing_speed(int until) {
    const auto calls = std::make_shared<int>(0);
    const auto time = std::make_shared<double>(0);
    return {.run = run("run"), .clock = [=] { return *time += (++*calls > until ? 3 : 1); }};
  }
};

TEST_F(DiagnosisTest, AHealthyRunSaysNothing) { EXPECT_EQ(said_by_run(), Ids()); }

TEST_F(DiagnosisTest, AHealthyRunWithoutWarmupAverageAndClippingSaysNothing) {
  options_.train.ema_decay = 0, options_.train.clip_norm = 0, options_.train.label_smoothing = 0;
  options_.schedule.kind = ScheduleKind::constant;
  options_.schedule.warmup = 1;
  options_.schedule.learning_rate = 2e-3;
  options_.log.every_updates = 7;
  EXPECT_EQ(said_by_run(), Ids());
}

TEST_F(DiagnosisTest, ShuffledTargetsAreIgnoredSources) {
  part_sources_from_targets();
  options_.train.ema_decay = 0;
  const Ids ids = said_by_run();
  EXPECT_TRUE(has(ids, "source-ignored") || has(ids, "attention-uniform"));
  EXPECT_TRUE(has(ids, "loss-of-single-tokens"));
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size()) << "nothing is said twice";
}

TEST_F(DiagnosisTest, AttentionThatStaysEven) {
  part_sources_from_targets();
  options_.model.encoder_layers = options_.model.decoder_layers = 2;
  options_.model.postprocess = {ProcessStep::dropout, ProcessStep::norm};  // no residual connections
  EXPECT_TRUE(has(said_by_run(), "attention-uniform"));
}

TEST_F(DiagnosisTest, TheSameOutputForAllSources) {
  options_.schedule.learning_rate = 0.3;
  options_.schedule.kind = ScheduleKind::constant;
  const Ids ids = said_by_run();
  EXPECT_TRUE(has(ids, "same-output"));
  EXPECT_TRUE(has(ids, "rate-too-high"));
}

TEST_F(DiagnosisTest, WeightsThatHardlyMoveAndOutputsWithoutEnd) {
  options_.schedule.learning_rate = 1e-6;
  const Ids ids = said_by_run();
  EXPECT_TRUE(has(ids, "rate-too-low"));
  EXPECT_TRUE(has(ids, "outputs-loop"));
}

TEST(Diagnoses, ALossThatRisesAgainHasARateThatIsTooHigh) {
  const auto row = std::ranges::find(diagnosis_table(), "rate-too-high", &Diagnosis::id);
  Observations o;
  o.training.rate = 1e-3, o.training.weight_size = 0.1;
  o.history.first_loss = 6, o.history.lowest_loss = 3;
  o.history.last_loss = 4;
  EXPECT_EQ(row->find(o), "");
  o.history.last_loss = 4.2;
  EXPECT_EQ(row->find(o), "the training loss has risen from 3.000 to 4.200, and stays there");
}

/// A text that is read in its own order may become harder.
TEST(Diagnoses, ALossThatRisesWithoutShufflingTellsNothingOfTheRate) {
  const auto row = std::ranges::find(diagnosis_table(), "rate-too-high", &Diagnosis::id);
  Observations o;
  o.training.rate = 1e-3, o.training.weight_size = 0.1;
  o.history.first_loss = 6, o.history.lowest_loss = 0.5, o.history.last_loss = 4;
  EXPECT_NE(row->find(o), "");
  o.settings.shuffles = false;
  EXPECT_EQ(row->find(o), "");
}

/// A layer that an update leaves out has no gradient.
TEST(Diagnoses, ADroppedLayerHasNotVanished) {
  const auto row = std::ranges::find(diagnosis_table(), "gradients-vanish", &Diagnosis::id);
  Observations o;
  o.training.gradients = {{"a", 1}, {"b", 0}, {"c", 1}, {"d", 2}};
  EXPECT_NE(row->find(o), "");
  o.settings.drops_layers = true;
  EXPECT_EQ(row->find(o), "");
  o.training.gradients.push_back({"e", 1e-9});
  EXPECT_NE(row->find(o), "");
  o.history.seen = {{"rate-too-high", 2, true}};
  EXPECT_EQ(row->find(o), "") << "that says more";
}

/// Samples may have the same output because they have the same reference.
TEST(Diagnoses, TheSameOutputIsRightForTheSameReference) {
  OutputFacts facts;
  for (int i = 0; i < 100; ++i) {
    const bool rare = i % 20 == 7;
    facts.add({i, 9}, {rare ? 5 : 4}, rare ? "alarm" : "nothing", false);
  }
  EXPECT_EQ(facts.others, 5);
  EXPECT_EQ(facts.same, 0);
}

std::string said_of(std::string_view id, const Observations& o) {
  return std::ranges::find(diagnosis_table(), id, &Diagnosis::id)->find(o);
}

/// Label smoothing alone costs more than the entropy of labels of which nearly all are the same.
TEST(Diagnoses, LabelSmoothingIsNoIgnorance) {
  Observations o;
  o.history.last_loss = 0.2;
  o.validation.found.label_entropy = 0.031;
  o.validation.found.scores["loss"] = {0.0463};
  o.validation.found.unknown_share = -0.2;
  EXPECT_EQ(said_of("loss-of-single-tokens", o), "");
  o.validation.found.unknown_share = 1;
  EXPECT_NE(said_of("loss-of-single-tokens", o), "");
}

/// Nor does a loss near 0, which it makes rise, tell of overfitting.
TEST(Diagnoses, ASolvedTaskIsNotOverfitted) {
  Observations o;
  o.history.best_validation = 0.069, o.history.loss_at_best_validation = 0.9, o.history.last_loss = 0.5;
  o.validation.found.scores["loss"] = {0.075};
  EXPECT_EQ(said_of("overfitting", o), "");
  o.validation.found.scores["loss"] = {0.13};
  EXPECT_NE(said_of("overfitting", o), "");
}

/// Outputs that the user's limit ends have no fault.
TEST_F(DiagnosisTest, OutputsMayBeLimited) {
  options_.generation.max_new_tokens = 2;
  EXPECT_FALSE(has(said_by_run(), "outputs-loop"));
}

TEST_F(DiagnosisTest, Overfitting) {
  write_text(folder_ / "train.a", folder_ / "train.b", 30, 1);
  options_.train.label_smoothing = 0;
  options_.validation.every_updates = 100;
  EXPECT_EQ(said_by_run(), Ids{"overfitting"});
}

TEST_F(DiagnosisTest, GradientsVanishWithoutResidualConnections) {
  options_.model.encoder_layers = options_.model.decoder_layers = 6;
  options_.model.postprocess = {ProcessStep::dropout, ProcessStep::norm};
  options_.train.updates = 320;
  EXPECT_TRUE(has(said_by_run(), "gradients-vanish"));
  EXPECT_NE(read_file(run("run") + "/train.jsonl").find("coder.layers."), std::string::npos);
}

TEST_F(DiagnosisTest, GradientsExplodeWithoutNorms) {
  options_.model.encoder_layers = options_.model.decoder_layers = 6;
  options_.model.postprocess = {ProcessStep::dropout, ProcessStep::add};
  options_.schedule.learning_rate = 2e-4;
  options_.log.every_updates =
      1000;  // before, a loss that is as high as that of a diverged run does not end it
  options_.train.updates = 500;
  EXPECT_TRUE(has(said_by_run(), "gradients-explode"));
}

TEST_F(DiagnosisTest, AnAverageThatLags) {
  options_.train.ema_decay = 0.9999f;
  options_.validation.every_updates = 50;
  options_.train.updates = 1300;
  EXPECT_TRUE(has(said_by_run(), "average-lags"));
}

TEST_F(DiagnosisTest, ThroughputThatHalvesIsSaidAndChangesNothing) {
  options_.train.updates = 300;
  train(options_, at_changing_speed(120));
  EXPECT_EQ(said("run"), Ids{"throughput-halved"});
  train(options_, {.run = run("steady")});
  EXPECT_TRUE(read_file(run("run") + "/model/model.safetensors") ==
              read_file(run("steady") + "/model/model.safetensors"));
}

TEST_F(DiagnosisTest, ThroughputThatStaysIsNoDiagnosis) {
  options_.train.updates = 300;
  train(options_, at_changing_speed(1'000'000));
  EXPECT_EQ(said("run"), Ids());
}

/// What has been said is not said again, and what is remembered of the time before the stop counts.
TEST_F(DiagnosisTest, AResumedRunSaysWhatTheWholeRunSays) {
  part_sources_from_targets();
  train(options_, {.run = run("whole")});
  ASSERT_FALSE(said("whole").empty());
  for (const int64_t stop : {400, 800}) {
    const std::string name = "from" + std::to_string(stop);
    TranslationOptions first = options_;
    std::filesystem::copy(run("whole"), run(name), std::filesystem::copy_options::recursive);
    std::filesystem::remove_all(run(name) + "/model");
    for (const auto& entry : std::filesystem::directory_iterator(run(name) + "/checkpoints"))
      if (entry.path().filename().string() > fmt::format("update-{:09}", stop))
        std::filesystem::remove_all(entry.path());
    train(options_, {.run = run(name), .resume = true});
    EXPECT_EQ(log(name), log("whole"));
  }
}

TEST_F(DiagnosisTest, IsSaidOnTheTerminal) {
  options_.schedule.learning_rate = 1e-6;
  const std::string text = said_in([&] { train(options_, {.run = run("run")}); });
  EXPECT_NE(text.find("warning: update 1000: the weights have hardly moved"), std::string::npos) << text;
  EXPECT_NE(text.find("(rate-too-low)"), std::string::npos) << text;
}

/// A run that goes back to an earlier update does not say again what it has said since.
TEST(Diagnoses, WhatHasBeenSaidStaysSaidAfterARollback) {
  DiagnosisHistory now, earlier;
  now.seen = {{"a", 3, true}, {"b", 2, false}, {"c", 1, true}};
  earlier.seen = {{"a", 1, false}, {"b", 1, false}};
  earlier.last_check = 100;
  const DiagnosisHistory after = after_rollback(now, earlier);
  EXPECT_EQ(after.last_check, 100);
  ASSERT_EQ(after.seen.size(), 3u);
  EXPECT_TRUE(after.seen[0].reported);
  EXPECT_FALSE(after.seen[1].reported);
  EXPECT_EQ(after.seen[1].times, 1);
  EXPECT_TRUE(after.seen[2].reported);
}

TEST(Diagnoses, EachHasAnIdOfItsOwnAndAdvice) {
  std::set<std::string_view> ids;
  for (const Diagnosis& row : diagnosis_table()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_TRUE(row.advice.ends_with('.')) << row.id;
    EXPECT_GE(row.times, 1);
  }
}

}  // namespace
}  // namespace sixfold
