// The best model of a run that was stopped, killed or given other settings.
#include <gtest/gtest.h>

#include "model_folder/ownership.h"
#include "model_folder/provenance.h"
#include "train/run_folder.h"
#include "train/run_result.h"
#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

TEST_F(TrainerTest, ABestModelThatIsMissingIsNoBest) {
  options_.checkpoint.keep_best = false;
  options_.train.updates = 12;
  train(options_, {.run = run("a")});
  fs::remove_all(run("a") + "/model");
  options_.checkpoint.keep_best = true;
  options_.train.updates = 23;
  const TrainOutcome outcome = train(options_, {.run = run("a"), .resume = true});
  EXPECT_TRUE(fs::exists(outcome.model + "/model.safetensors"));
  EXPECT_TRUE(fs::exists(run("a") + "/best/model.safetensors"));
}

/// Where checkpoints are gone before a run has a model, its best is what is left of it.
TEST_F(TrainerTest, ABestModelThatIsLeftIsNotReplaced) {
  train(options_, {.run = run("a")});
  for (const char* part : {"/checkpoints", "/model"}) fs::remove_all(run("a") + part);
  write_file_atomically(run("a") + "/sixfold-run", run_mark_text);
  const std::string best = read_file(run("a") + "/best/model.safetensors"),
                    log = read_file(run("a") + "/train.jsonl");
  for (const bool resume : {true, false})
    error_message([&] { train(options_, {.run = run("a"), .resume = resume}); });
  EXPECT_EQ(read_file(run("a") + "/best/model.safetensors"), best);
  EXPECT_EQ(read_file(run("a") + "/train.jsonl"), log);
}

/// The first best model comes with a checkpoint, however rare these are.
TEST_F(TrainerTest, ABestModelHasACheckpoint) {
  options_.checkpoint.every_updates = 1000;
  train(options_, {.run = run("a")});
  EXPECT_EQ(checkpoints("a"), (std::vector<std::string>{"update-000000005", "update-000000023"}));
  // Killed after that checkpoint and before its best model was stored.
  fs::copy(run("a"), run("b"), fs::copy_options::recursive);
  for (const char* part : {"/best", "/model", "/checkpoints/update-000000023"}) fs::remove_all(run("b") + part);
  train(options_, {.run = run("b"), .resume = true});
  expect_same_run("a", "b");
}

/// A run that was killed after its best model was stored and before the next checkpoint, and goes on with
/// settings that make nothing better, keeps that model.
TEST_F(TrainerTest, ALaterBestModelOutlivesAChangeOfSettings) {
  train(options_, {.run = run("a")});
  for (const char* part : {"/model", "/checkpoints/update-000000014", "/checkpoints/update-000000021",
                           "/checkpoints/update-000000023"})
    fs::remove_all(run("a") + part);
  const std::string best = read_file(run("a") + "/best/model.safetensors");
  const auto stored = nlohmann::json::parse(read_provenance(run("a") + "/best").back()).at("best");
  ASSERT_GT(stored.at("update"), 7);
  options_.schedule.learning_rate = 1e-30;
  for (const int64_t updates : {9, 23}) {  // the second resume begins with another checkpoint and no change
    options_.train.updates = updates;
    train(options_, {.run = run("a"), .resume = true});
    EXPECT_TRUE(read_file(run("a") + "/best/model.safetensors") == best);
    EXPECT_TRUE(read_file(run("a") + "/model/model.safetensors") == best);
    EXPECT_EQ(nlohmann::json::parse(read_provenance(run("a") + "/model").back()).at("best"), stored);
    EXPECT_EQ(read_run_result(run("a")).validation.at("loss"), stored.at("value"));
  }
}

/// A best model of an earlier update than the state's is not taken for it.
TEST_F(TrainerTest, AnOldBestModelIsNotTakenForTheBest) {
  options_.train.updates = 5;
  train(options_, {.run = run("a")});
  options_.checkpoint.keep_best = false;
  options_.train.updates = 12;
  train(options_, {.run = run("a"), .resume = true});
  options_.checkpoint.keep_best = true;
  options_.train.updates = 23;
  train(options_, {.run = run("a"), .resume = true});
  const auto newest = nlohmann::json::parse(read_provenance(run("a") + "/model").back());
  EXPECT_EQ(newest.at("updates"), newest.at("best").at("update"));
  EXPECT_GT(newest.at("updates").get<int64_t>(), 5);
}

}  // namespace
}  // namespace sixfold
