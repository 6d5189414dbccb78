#include "train/run_result.h"

#include "train/checkpoint.h"
#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class RunResultTest : public TrainerTest {
 protected:
  bool finished(const std::string& name) const { return is_finished(TranslationConfig(options_), run(name)); }
  /// The scores of the last validation at an update, as the log has them.
  nlohmann::json validation_at(const std::string& name, int64_t update) const {
    nlohmann::json found;
    for (const nlohmann::json& line : log(name))
      if (line.contains("validation") && line.at("update") == update) found = line.at("validation");
    return found;
  }
};

TEST_F(RunResultTest, ARunIsFinishedWithItsOwnSettingsOnly) {
  EXPECT_FALSE(finished("a"));
  train(options_, {.run = run("a")});
  EXPECT_TRUE(finished("a"));
  options_.train.threads = 2;
  EXPECT_TRUE(finished("a")) << "the number of threads does not influence the results";
  options_.data.test = options_.data.valid;
  options_.distributed.timeout = 90;
  EXPECT_TRUE(finished("a")) << "nor does what a resumed run may change";
  options_.train.updates = 30;
  EXPECT_FALSE(finished("a")) << "training would go on";
  options_.train.updates = 23;
  options_.data.train = {folder_ / "valid.a", folder_ / "valid.b"};
  EXPECT_FALSE(finished("a")) << "other text";
  fs::copy(folder_ / "train.a", folder_ / "moved.a");
  fs::copy(folder_ / "train.b", folder_ / "moved.b");
  options_.data.train = {folder_ / "moved.a", folder_ / "moved.b"};
  EXPECT_TRUE(finished("a")) << "the names of files do not influence the results";
  write_text(folder_ / "moved.a", folder_ / "moved.b", 200, 3);
  EXPECT_FALSE(finished("a")) << "other text under the same name";
  fs::remove(folder_ / "moved.a");
  fs::remove(folder_ / "moved.b");
  EXPECT_TRUE(finished("a")) << "the text is not needed any more";
}

TEST_F(RunResultTest, TellsWhatAnotherSweepWouldChange) {
  using Keys = std::vector<std::string>;
  const auto changed = [&] { return changed_since_begun(TranslationConfig(options_), run("a")); };
  EXPECT_EQ(changed(), Keys());  // there is no run yet
  options_.train.updates = 10;
  train(options_, {.run = run("a")});
  fs::remove_all(run("a") + "/model");  // as if it was stopped: there is a checkpoint, but no model
  options_.train.updates = 23;
  EXPECT_EQ(changed(), Keys());
  options_.schedule.learning_rate = 1e-4;
  EXPECT_EQ(changed(), Keys{"schedule.learning_rate"});
  options_.schedule.learning_rate = 5e-3;
  options_.train.threads = 2;
  options_.train.updates = 40;
  EXPECT_EQ(changed(), Keys());  // a longer training goes on
  options_.train.updates = 23;
  train(options_, {.run = run("a"), .resume = true});
  options_.train.updates = 10;
  EXPECT_EQ(changed(), Keys{"train.updates"});  // its weights are gone
  options_.train.updates = 30;
  EXPECT_EQ(changed(), Keys());
  write_text(folder_ / "train.a", folder_ / "train.b", 200, 3);
  EXPECT_EQ(changed(), Keys{"data.train (the contents of its files)"});
}

TEST_F(RunResultTest, AStoppedRunIsNotFinished) {
  std::atomic<int> stop = 1;
  train(options_, {.run = run("a"), .stop = &stop});
  EXPECT_FALSE(finished("a"));
  train(options_, {.run = run("a"), .resume = true});
  EXPECT_TRUE(finished("a"));
  // It went on to 30 updates and was killed: the model is that of 23.
  options_.train.updates = 30;
  train(options_, {.run = run("b")});
  fs::remove_all(run("b") + "/model");
  fs::copy(run("a") + "/model", run("b") + "/model", fs::copy_options::recursive);
  EXPECT_FALSE(finished("b"));
  options_.train.updates = 23;
  EXPECT_FALSE(finished("b"));
}

TEST_F(RunResultTest, ADamagedRunIsNotFinished) {
  train(options_, {.run = run("a")});
  write_file_atomically(run("a") + "/model/provenance.json", "[");
  EXPECT_FALSE(finished("a"));
  EXPECT_NE(error_message([&] { read_run_result(run("a")); }), "");
  EXPECT_NE(error_message([&] { read_run_result(run("none")); }).find("has no model yet"), std::string::npos);
}

TEST_F(RunResultTest, ScoresAreThoseOfTheModelThatIsKept) {
  train(options_, {.run = run("best")});
  const RunResult best = read_run_result(run("best"));
  EXPECT_EQ(best.updates, 23);
  EXPECT_EQ(best.model_update, state_of(last_checkpoint("best")).at("best_update"));
  const auto logged = validation_at("best", best.model_update);
  EXPECT_EQ(best.validation.size(), logged.size());
  for (const auto& [name, value] : best.validation) EXPECT_EQ(value, logged.at(name).get<double>()) << name;
  EXPECT_EQ(best.seconds, state_of(last_checkpoint("best")).at("seconds").get<double>());

  options_.checkpoint.keep_best = false;
  train(options_, {.run = run("last")});
  const RunResult last = read_run_result(run("last"));
  EXPECT_EQ(last.model_update, 23);
  EXPECT_EQ(last.validation.at("loss"), validation_at("last", 23).at("loss").get<double>());
}

TEST_F(RunResultTest, WhatIsNotKnownIsLeftOut) {
  options_.train.average_last = 2;
  train(options_, {.run = run("mean")});
  RunResult mean = read_run_result(run("mean"));
  EXPECT_EQ(mean.model_update, 0);
  EXPECT_TRUE(mean.validation.empty()) << "nobody validated the mean";
  fs::remove_all(run("mean") + "/checkpoints");
  EXPECT_TRUE(finished("mean"));
  mean = read_run_result(run("mean"));
  EXPECT_FALSE(mean.seconds.has_value());
  options_.train.average_last = 1;
  options_.data.valid = {};
  train(options_, {.run = run("blind")});
  EXPECT_TRUE(read_run_result(run("blind")).validation.empty());
}

}  // namespace
}  // namespace sixfold
