// Runs that were stopped, killed, moved, damaged or given other settings, and go on, or say why not.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model_folder/ownership.h"
#include "model_folder/provenance.h"
#include "train/run_folder.h"
#include "train/run_result.h"
#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// The number of a process that has ended.
pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST_F(TrainerTest, ResumedRunEqualsOneNeverStopped) {
  train(options_, {.run = run("whole")});
  expect_resumes_as_whole();
}

/// Stopped before its first update, a resumed run leaves the checkpoint as it is, which counts for the mean of
/// the last ones.
TEST_F(TrainerTest, AStopRightAfterAResumeLosesNoCheckpoint) {
  options_.train.average_last = 3;
  options_.train.ema_decay = 0;
  train(options_, {.run = run("whole")});
  fs::copy(run("whole"), run("a"), fs::copy_options::recursive);
  for (const char* part : {"/model", "/checkpoints/update-000000021", "/checkpoints/update-000000023"})
    fs::remove_all(run("a") + part);
  const std::string state = read_file(run("a") + "/checkpoints/update-000000014/state.json");
  const std::atomic<int> stop{15};
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true, .stop = &stop}).updates, 14);
  EXPECT_EQ(read_file(run("a") + "/checkpoints/update-000000014/state.json"), state);
  train(options_, {.run = run("a"), .resume = true});
  EXPECT_EQ(checkpoints("whole"), checkpoints("a"));
  expect_same_run("whole", "a");
}

/// A checkpoint of an interruption at what becomes the last update is one of the run.
TEST_F(TrainerTest, AnInterruptedCheckpointBecomesTheLast) {
  train(options_, {.run = run("a")});
  auto state = state_of(last_checkpoint("a"));
  state["interrupted"] = true;
  write_file_atomically(last_checkpoint("a") + "/state.json", state.dump());
  train(options_, {.run = run("a"), .resume = true});
  EXPECT_EQ(state_of(last_checkpoint("a")).at("interrupted"), false);
}

TEST_F(TrainerTest, ResumingARunThatHasNoCheckpointBeginsIt) {
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true}).updates, 23);
  train(options_, {.run = run("b")});
  expect_same_run("a", "b");
}

/// The config that a run can be started again with is that of its last start, whatever became of earlier ones.
TEST_F(TrainerTest, TheConfigIsThatOfTheLastStart) {
  const auto good = options_;
  options_.data.train[0] = folder_ / "none";
  options_.train.updates = 7;
  EXPECT_THROW(train(options_, {.run = run("a")}), Error);
  options_ = good;
  const std::atomic<int> stop = 1;
  EXPECT_EQ(train(options_, {.run = run("a"), .stop = &stop}).updates, 0);
  const std::string config = read_file(run("a") + "/config.json");
  EXPECT_EQ(config.find("/none"), std::string::npos) << config;
  train(options_, {.run = run("a"), .resume = true});
  train(options_, {.run = run("b")});
  expect_same_run("a", "b");
}

TEST_F(TrainerTest, WhatWasLeftHalfWrittenIsRemoved) {
  { const RunFolder begun(run("a")); }
  const std::string gone = fmt::format(".tmp-{}-0", ended_process());
  const std::string checkpoints = run("a") + "/checkpoints/";
  fs::create_directories(checkpoints + "update-000000007" + gone);
  write_file_atomically(checkpoints + "update-000000007" + gone + "/state.json", "{");
  write_file_atomically(checkpoints + "update-000000007" + gone + "/model.safetensors" + gone, "half");
  write_file_atomically(run("a") + "/config.json" + gone, "{");
  fs::create_directories(run("a") + "/encoded-text" + gone);
  write_file_atomically(run("a") + "/encoded-text" + gone + "/source.ids", "half");
  // What only looks like it is somebody's, and so is what another process is writing.
  const std::string alive = fmt::format(".tmp-{}-0", ::getppid());
  fs::create_directories(run("a") + "/best" + gone);
  const std::vector<std::string> others{run("a") + "/notes.tmp-old", run("a") + "/hypotheses.txt" + gone,
                                        run("a") + "/model" + alive, run("a") + "/best" + gone + "/notes",
                                        checkpoints + "update-7" + gone};
  for (const std::string& path : others) write_file_atomically(path, "mine");
  train(options_, {.run = run("a"), .resume = true});
  for (const std::string& path : others) {
    EXPECT_TRUE(fs::exists(path)) << path;
    fs::remove(path);
  }
  fs::remove(run("a") + "/best" + gone);
  for (const auto& entry : fs::recursive_directory_iterator(run("a")))
    EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
}

TEST_F(TrainerTest, ATextThatChangedIsNoticed) {
  options_.train.updates = 7;
  train(options_, {.run = run("a")});
  options_.train.updates = 23;
  train(options_, {.run = run("b")});
  write_text(folder_ / "train.a", folder_ / "train.b", 200, 9);
  options_.train.updates = 23;
  const std::string said = said_in([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(said.find("train.a: has changed"), std::string::npos) << said;
  fs::remove(folder_ / "train.b");
  fs::create_directory(folder_ / "train.b");
  options_.train.updates = 25;
  const std::string said_again = said_in([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(said_again.find("train.b: is no longer a regular file"), std::string::npos) << said_again;
  fs::remove(folder_ / "train.b");
  write_text(folder_ / "train.a", folder_ / "train.b", 200, 9);
  fs::remove_all(run("b") + "/encoded-text");
  options_.train.updates = 30;
  const std::string message = error_message([&] { train(options_, {.run = run("b"), .resume = true}); });
  EXPECT_NE(message.find("is not the text that the run began with"), std::string::npos) << message;
  EXPECT_FALSE(fs::exists(run("b") + "/encoded-text"));
}

TEST_F(TrainerTest, AnotherInstructionSetIsRefusedUnlessAccepted) {
  options_.train.updates = 7;
  const std::string checkpoint = train(options_, {.run = run("a")}).checkpoint;
  auto state = state_of(checkpoint);
  state["instruction_set"] = "cpu, ABACUS, fp32";
  write_file_atomically(checkpoint + "/state.json", state.dump());
  options_.train.updates = 9;
  const std::string message = error_message([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(message.find("--other-processor"), std::string::npos) << message;
  EXPECT_NE(message.find("not be bitwise equal"), std::string::npos) << message;
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true, .other_processor = true}).updates, 9);
  // From then on this is its processor, and what happened stays known.
  options_.train.updates = 11;
  const std::string again = train(options_, {.run = run("a"), .resume = true}).checkpoint;
  const auto changes = state_of(again).at("changes");
  const auto moved = std::find_if(changes.begin(), changes.end(),
                                  [](const auto& change) { return change.at("what") == "instruction_set"; });
  ASSERT_NE(moved, changes.end());
  EXPECT_EQ(moved->at("from"), "cpu, ABACUS, fp32");
  EXPECT_EQ(moved->at("update"), 7);
}

/// The right way to go on works although a wrong one was tried before, and the text is gone.
TEST_F(TrainerTest, AResumeThatIsRefusedChangesNothing) {
  train(options_, {.run = run("whole")});
  options_.train.updates = 7;
  train(options_, {.run = run("a")});
  fs::remove_all(run("a") + "/model");
  for (const char* text : {"train.a", "train.b", "valid.a", "valid.b"}) fs::remove(folder_ / text);
  options_.train.updates = 23;
  TranslationOptions wrong = options_;
  wrong.data.max_length = 5;
  const std::string message = error_message([&] { train(wrong, {.run = run("a"), .resume = true}); });
  EXPECT_NE(message.find("data.max_length (it was 256, and is 5 now)"), std::string::npos) << message;
  const std::string said = said_in([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(said.find("train.a: no longer exists; the run goes on with the stored text"), std::string::npos)
      << said;
  EXPECT_NE(said.find("valid.b: no longer exists; the run goes on with the stored text"), std::string::npos)
      << said;
  EXPECT_NE(said.find("train.updates was 7, and is 23 from update 8 on"), std::string::npos) << said;
}

/// By another name and with other contents, it is the text of the run that is trained on.
TEST_F(TrainerTest, ARenamedTextThatChangedIsNotTrainedOn) {
  train(options_, {.run = run("whole")});
  fs::copy(run("whole"), run("a"), fs::copy_options::recursive);
  fs::remove_all(run("a") + "/model");
  for (const char* later : {"14", "21", "23"}) fs::remove_all(run("a") + "/checkpoints/update-0000000" + later);
  write_text(folder_ / "train.a", folder_ / "train.b", 200, 9);
  write_text(folder_ / "valid.a", folder_ / "valid.b", 20, 9);
  const std::string folder = folder_.path().string() + "/./";
  options_.data.train = {folder + "train.a", folder + "train.b"};
  options_.data.valid = {folder + "valid.a", folder + "valid.b"};
  const std::string said = said_in([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(said.find("train.a: differs from "), std::string::npos) << said;
  EXPECT_NE(said.find("valid.b: differs from "), std::string::npos) << said;
  EXPECT_TRUE(read_file(run("whole") + "/model/model.safetensors") ==
              read_file(run("a") + "/model/model.safetensors"));
  EXPECT_EQ(log("whole"), log("a"));
}

TEST_F(TrainerTest, PartsAreKeptOnResume) {
  options_.data.micro_batch_tokens = 90;
  train(options_, {.run = run("whole")});
  options_.train.updates = 7;
  const std::string checkpoint = train(options_, {.run = run("a")}).checkpoint;
  EXPECT_EQ(state_of(checkpoint).at("part_tokens"), 90);
  // As if --fit had chosen them: the config says something else.
  auto state = state_of(checkpoint);
  state["options"]["data"]["micro_batch_tokens"] = 0;
  write_file_atomically(checkpoint + "/state.json", state.dump());
  fs::remove_all(run("a") + "/model");
  options_.data.micro_batch_tokens = 0;
  options_.train.updates = 23;
  const std::string last = train(options_, {.run = run("a"), .resume = true}).checkpoint;
  EXPECT_EQ(state_of(last).at("part_tokens"), 90);
}

/// Version 0.1.0 stored less.
TEST_F(TrainerTest, ResumesFromAnOlderState) {
  const std::string checkpoint = train(options_, {.run = run("a")}).checkpoint;
  auto state = nlohmann::json::parse(read_file(checkpoint + "/state.json"));
  for (const char* key : {"best_by", "interrupted"}) EXPECT_EQ(state.erase(key), 1u) << key;
  write_file_atomically(checkpoint + "/state.json", state.dump());
  options_.train.updates += 2;
  EXPECT_NE(train(options_, {.run = run("a"), .resume = true}).model, "");
}

TEST_F(TrainerTest, MoreMinutesAreMoreUpdates) {
  options_.train.updates = 0;
  options_.train.minutes = 0.01;
  const int64_t first = train(options_, {.run = run("a"), .clock = counting_clock(0.01)}).updates;
  options_.train.minutes = 0.04;
  EXPECT_GT(train(options_, {.run = run("a"), .resume = true, .clock = counting_clock(0.01)}).updates, first);
}

/// A plan that a killed run had logged after its newest checkpoint is obeyed.
TEST_F(TrainerTest, ALoggedPlanIsObeyed) {
  options_.train.minutes = 1000;
  train(options_, {.run = run("a")});
  for (const char* part : {"/model", "/checkpoints/update-000000014", "/checkpoints/update-000000021",
                           "/checkpoints/update-000000023"})
    fs::remove_all(run("a") + part);
  write_file_atomically(run("a") + "/train.jsonl", read_file(run("a") + "/train.jsonl") +
                                                       "{\"update\": 10, \"planned_last_update\": 10}\n{\"upd");
  const TrainOutcome outcome = train(options_, {.run = run("a"), .resume = true});
  EXPECT_EQ(outcome.updates, 10);
  EXPECT_EQ(state_of(outcome.checkpoint).at("plan"),
            nlohmann::json::parse(R"([{"update": 0, "last_update": 23}, {"update": 10, "last_update": 10}])"));
  EXPECT_NE(read_file(run("a") + "/train.jsonl").find("planned_last_update"), std::string::npos);
}

TEST_F(TrainerTest, AFineTunedRunGoesOnWithoutItsStart) {
  train(options_, {.run = run("a")});
  options_.start.model = run("a") + "/model";
  options_.train.updates = 7;
  train(options_, {.run = run("b")});
  fs::remove_all(run("b") + "/model");
  fs::rename(run("a"), run("moved"));
  options_.train.updates = 14;
  const std::string model = train(options_, {.run = run("b"), .resume = true}).model;
  const auto history = read_provenance(model);
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(history[0]).at("updates"), 23);
  EXPECT_EQ(nlohmann::json::parse(history[1]).at("updates"), 14);
  EXPECT_EQ(nlohmann::json::parse(history[1]).at("changes").at(0).at("what"), "train.updates");
}

/// Its ids are those of the run, but new checkpoints would get the other tokenizer.
TEST_F(TrainerTest, RefusesAnotherTokenizerBesideTheStoredText) {
  train(options_, {.run = run("a")});
  const std::string stored = run("a") + "/encoded-text/tokenizer.vocab", own = read_file(stored);
  std::string other = own;  // with the last two tokens exchanged
  ASSERT_EQ(other.back(), '\n');
  std::swap(other[other.size() - 2], other[other.size() - 4]);
  ASSERT_NE(other, own);
  write_file_atomically(stored, other);
  options_.train.updates = 30;
  const auto resume = [&] { train(options_, {.run = run("a"), .resume = true}); };
  EXPECT_NE(error_message(resume).find("its ids were made by a tokenizer with the hash"), std::string::npos);
  // Version 0.1.0 recorded no hash.
  const std::string path = run("a") + "/encoded-text/corpus.json";
  auto record = nlohmann::json::parse(read_file(path));
  for (const char* key : {"source_tokenizer", "target_tokenizer"}) EXPECT_EQ(record.erase(key), 1u);
  write_file_atomically(path, record.dump());
  EXPECT_NE(error_message(resume).find("its tokenizer is not that of the run"), std::string::npos);
  write_file_atomically(stored, own);
  EXPECT_NO_THROW(resume());
}

TEST_F(TrainerTest, RefusesAResultThatCanNotBeWrittenBeforeItTrains) {
  train(options_, {.run = run("a")});
  fs::remove_all(run("a") + "/model");
  write_file_atomically(run("a") + "/model", "mine");
  options_.train.updates = 30;
  EXPECT_NE(error_message([&] { train(options_, {.run = run("a"), .resume = true}); }).find("is a file"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(run("a") + "/checkpoints/update-000000030"));
  EXPECT_EQ(read_file(run("a") + "/model"), "mine");
}

/// More threads than processors would only wait for each other.
TEST_F(TrainerTest, TakesNoMoreThreadsThanProcessors) {
  options_.train.threads = 4000;
  testing::internal::CaptureStderr();
  train(options_, {.run = run("a")});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("train.threads is 4000, but"), std::string::npos);
}

/// A run can be resumed from another working directory than that in which it began.
TEST_F(TrainerTest, RemembersItsStartFromAnyFolder) {
  train(options_, {.run = run("a")});
  const fs::path here = fs::current_path();
  fs::current_path(folder_.path());
  options_.start.model = "a/model";
  options_.train.updates = 7;
  train(options_, {.run = run("b")});
  const std::string options = read_file(run("b") + "/config.json");
  EXPECT_NE(options.find(run("a") + "/model"), std::string::npos) << options;
  fs::create_directory("elsewhere");
  fs::current_path("elsewhere");
  options_.start.model = "../a/model";
  options_.train.updates = 14;
  train(options_, {.run = run("b"), .resume = true});
  fs::current_path(here);
  EXPECT_NE(read_file(run("b") + "/config.json").find(run("a") + "/model"), std::string::npos);
}

/// Even before its first checkpoint.
TEST_F(TrainerTest, ARefusedResumeWithoutACheckpointLeavesTheOptionsToo) {
  train(options_, {.run = run("a")});
  for (const char* part : {"/model", "/best", "/checkpoints", "/train.jsonl", "/sixfold-run"})
    fs::remove_all(run("a") + part);
  const std::string options = read_file(run("a") + "/config.json");
  options_.data.train = {folder_ / "missing"};
  EXPECT_NE(error_message([&] { train(options_, {.run = run("a"), .resume = true}); }), "");
  EXPECT_EQ(read_file(run("a") + "/config.json"), options);
}

TEST_F(TrainerTest, ARefusedResumeLeavesTheOptionsOfTheRun) {
  train(options_, {.run = run("a")});
  const std::string options = read_file(run("a") + "/config.json"), log = run("a") + "/train.jsonl";
  fs::rename(log, folder_ / "log");
  fs::create_directory(log);
  ++options_.train.updates;
  EXPECT_NE(error_message([&] { train(options_, {.run = run("a"), .resume = true}); }).find(log),
            std::string::npos);
  EXPECT_EQ(read_file(run("a") + "/config.json"), options);
  fs::remove(log);
  fs::rename(folder_ / "log", log);
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true}).updates, options_.train.updates);
}

TEST_F(TrainerTest, OfADamagedCheckpointTheOlderOneIsNamed) {
  train(options_, {.run = run("a")});
  const std::string weights = last_checkpoint("a") + "/model.safetensors";
  std::string bytes = read_file(weights);
  std::fill(bytes.end() - 200, bytes.end(), '\0');
  write_file_atomically(weights, bytes);
  const std::string message = error_message([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(message.find("is damaged"), std::string::npos) << message;
  EXPECT_NE(message.find("update-000000021 is intact; to resume from it, move "), std::string::npos) << message;
  fs::remove_all(last_checkpoint("a"));
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true}).updates, 23);
}

TEST_F(TrainerTest, RefusesToBeginAnewWhereCheckpointsAreGone) {
  train(options_, {.run = run("a")});
  fs::remove_all(run("a") + "/checkpoints");
  const std::string model = read_file(run("a") + "/model/model.safetensors");
  EXPECT_NE(error_message([&] {
              train(options_, {.run = run("a"), .resume = true});
            }).find("checkpoints of the run are missing"),
            std::string::npos);
  fs::rename(run("a") + "/model", folder_ / "kept");
  EXPECT_NE(error_message([&] {
              train(options_, {.run = run("a"), .resume = true});
            }).find("checkpoints of the run are missing"),
            std::string::npos);
  EXPECT_EQ(read_file(folder_ / "kept/model.safetensors"), model);
}

TEST_F(TrainerTest, KeptTextThatIsDamagedIsNotTrainedOn) {
  options_.train.updates = 7;
  train(options_, {.run = run("a")});
  const std::string path = run("a") + "/encoded-text/source.ids";
  std::string ids = read_file(path);
  std::fill(ids.begin(), ids.begin() + 400, '\x07');
  write_file_atomically(path, ids);
  options_.train.updates = 23;
  EXPECT_NE(error_message([&] { train(options_, {.run = run("a"), .resume = true}); }).find("is damaged"),
            std::string::npos);
  fs::remove_all(run("a") + "/encoded-text");
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true}).updates, 23);
}

/// A layer that was chosen guides the attention of the whole run, and aligns the words of its model.
TEST_F(TrainerTest, TheLayerThatAlignsStays) {
  options_.generation.alignment_layer = -1;
  train(options_, {.run = run("a")});
  options_.train.updates = 30;
  train(options_, {.run = run("a"), .resume = true});
  EXPECT_EQ(load_model_config(run("a") + "/model").generation.alignment_layer, -1);
}

/// A loss with more terms is no spike of the one before.
TEST_F(TrainerTest, AnotherLossIsNoSpike) {
  options_.train.on_spike = OnSpike::stop;
  options_.model.dropout = 0.1F;
  train(options_, {.run = run("a")});
  options_.train.r_drop = 20;
  options_.train.updates = 30;
  EXPECT_NO_THROW(train(options_, {.run = run("a"), .resume = true}));
}

/// Epochs are counted by what was read, whatever batches are from then on.
TEST_F(TrainerTest, EpochsStayEpochsWithOtherBatches) {
  options_.train.updates = 0;
  options_.train.epochs = 1;
  train(options_, {.run = run("a")});
  options_.train.epochs = 3;
  options_.train.accumulate = 2;
  const std::string checkpoint = train(options_, {.run = run("a"), .resume = true}).checkpoint;
  const auto state = state_of(checkpoint);
  EXPECT_NEAR(state.at("epoch").get<double>() + state.at("place").get<double>() / 200, 3, 0.35);
}

/// Stopped while its text is encoded, a run says so at once, and leaves what can be begun again.
TEST_F(TrainerTest, AStopIsNoticedWhileTextIsEncoded) {
  const std::atomic<int> stop{15};
  const TrainOutcome outcome = train(options_, {.run = run("a"), .stop = &stop});
  EXPECT_EQ(outcome.updates, 0);
  EXPECT_FALSE(fs::exists(run("a") + "/encoded-text"));
  const TranslationOptions again = read_translation_options(run("a") + "/config.json");
  EXPECT_EQ(train(again, {.run = run("a"), .resume = true}).updates, 23);
}

TEST_F(TrainerTest, TheTextOfARunThatBeginsAgainIsNotEncodedAgain) {
  options_.train.updates = 1;
  train(options_, {.run = run("a")});
  const auto written = fs::last_write_time(run("a") + "/encoded-text/source.ids");
  fs::remove_all(run("a") + "/checkpoints");
  fs::remove_all(run("a") + "/model");
  fs::remove_all(run("a") + "/best");
  write_file_atomically(run("a") + "/sixfold-run",
                        run_mark_text);  // as if it had been killed before its first checkpoint
  train(options_, {.run = run("a"), .resume = true});
  EXPECT_EQ(fs::last_write_time(run("a") + "/encoded-text/source.ids"), written);
  fs::remove_all(run("a") + "/checkpoints");
  fs::remove_all(run("a") + "/model");
  fs::remove_all(run("a") + "/best");
  write_file_atomically(run("a") + "/sixfold-run", run_mark_text);
  options_.data.max_length = 20;
  train(options_, {.run = run("a"), .resume = true});
  EXPECT_NE(fs::last_write_time(run("a") + "/encoded-text/source.ids"), written);
}

}  // namespace
}  // namespace sixfold
