#include "train/trainer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "backend/cpu/onednn.h"
#include "base/file.h"
#include "error_message.h"
#include "formats/safetensors.h"
#include "model/history.h"
#include "model/model_dir.h"
#include "model/ownership.h"
#include "parallel_text.h"
#include "temporary_folder.h"
#include "train/run_folder.h"

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

/// Lines to learn from, of single letters.
void write_text(const std::string& source, const std::string& target, int lines, uint64_t seed) {
  const auto letter = [](uint32_t i) { return std::string(1, static_cast<char>('a' + i)); };
  write_parallel_text(source, target, lines, seed, {.word = letter});
}

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    write_text(folder_ / "train.a", folder_ / "train.b", 200, 1);
    write_text(folder_ / "valid.a", folder_ / "valid.b", 20, 2);
    options_.model.d_model = 16;
    options_.model.d_ff = 32;
    options_.model.heads = 2;
    options_.model.encoder_layers = options_.model.decoder_layers = 1;
    options_.model.search.length_offset = 4;
    options_.tokenizer.kind = TokenizerKind::whitespace;
    options_.tokenizer.vocab_size = 0;
    options_.data.train = {folder_ / "train.a", folder_ / "train.b"};
    options_.data.valid = {folder_ / "valid.a", folder_ / "valid.b"};
    options_.data.batch_tokens = 300;
    options_.train.updates = 23;
    options_.train.threads = 1;
    options_.train.ema_decay = 0.9f;
    options_.train.clip_norm = 1;
    options_.schedule.kind = ScheduleKind::linear;
    options_.schedule.learning_rate = 5e-3;
    options_.schedule.warmup = 5;
    options_.checkpoint.every_updates = 7;
    options_.checkpoint.keep_last = 10;
    options_.validation.every_updates = 5;
    options_.validation.metrics = {Metric::loss, Metric::bleu};
    options_.log.every_updates = 4;
  }

  std::string run(const std::string& name) const { return folder_ / name; }
  std::string last_checkpoint(const std::string& name) const {
    return run(name) + "/checkpoints/update-000000023";
  }

  /// The log without what the clock says.
  std::vector<nlohmann::json> log(const std::string& name) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(read_file(run(name) + "/train.jsonl"));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line));
      lines.back().erase("seconds");
      lines.back().erase("tokens_per_second");
      lines.back().erase("seconds_waited");
    }
    return lines;
  }

  void expect_same_run(const std::string& a, const std::string& b) const {
    for (const char* file :
         {"/model.safetensors", "/optimizer.safetensors", "/tokenizer.vocab", "/config.json"})
      EXPECT_TRUE(read_file(last_checkpoint(a) + file) == read_file(last_checkpoint(b) + file)) << file;
    EXPECT_TRUE(read_file(run(a) + "/model/model.safetensors") ==
                read_file(run(b) + "/model/model.safetensors"));
    EXPECT_EQ(log(a), log(b));
  }

  /// The mean gradients that the optimizer remembers after one update: a tenth of the gradient.
  std::vector<float> gradients(const std::string& name) const {
    const auto file = SafetensorsFile::open(run(name) + "/checkpoints/update-000000001/optimizer.safetensors");
    std::vector<float> all;
    for (const auto& tensor : file.names()) {
      if (!tensor.starts_with("moment1.")) continue;
      const auto values = to_floats(file.at(tensor));
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  double distance(const std::string& a, const std::string& b) const {
    const auto x = gradients(a), y = gradients(b);
    double apart = 0, size = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      apart += (x[i] - y[i]) * (x[i] - y[i]);
      size += x[i] * x[i];
    }
    return std::sqrt(apart / size);
  }

  TemporaryFolder folder_;
  TrainOptions options_;
};

TEST_F(TrainerTest, MakesAModelFolderAndLearns) {
  options_.train.updates = 300;
  options_.validation.every_updates = 100;
  options_.log.every_updates = 100;
  const TrainOutcome outcome = train(options_, {.run = run("a")});
  EXPECT_EQ(outcome.model, run("a") + "/model");
  EXPECT_EQ(outcome.updates, 300);
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.vocab"})
    EXPECT_TRUE(fs::exists(outcome.model + "/" + file));
  const auto lines = log("a");
  EXPECT_GT(lines.front().at("loss").get<double>(), lines[lines.size() - 2].at("loss").get<double>() + 0.5);
}

TEST_F(TrainerTest, ResumedRunEqualsOneNeverStopped) {
  train(options_, {.run = run("whole")});
  for (const int kept : {7, 14, 21}) {
    const std::string name = "from" + std::to_string(kept);
    fs::copy(run("whole"), run(name), fs::copy_options::recursive);
    fs::remove_all(run(name) + "/model");
    for (const auto& entry : fs::directory_iterator(run(name) + "/checkpoints"))
      if (entry.path().filename().string() > fmt::format("update-{:09}", kept)) fs::remove_all(entry.path());
    train(options_, {.run = run(name), .resume = true});
    expect_same_run("whole", name);
  }
}

TEST_F(TrainerTest, StopRequestSavesAndResumes) {
  train(options_, {.run = run("whole")});
  const std::atomic<int> stop{1};
  const TrainOutcome none = train(options_, {.run = run("never"), .stop = &stop});
  EXPECT_EQ(none.updates, 0);
  EXPECT_TRUE(none.checkpoint.empty());

  std::atomic<int> later{0};
  std::thread bell([&] {
    while (!fs::exists(run("stopped") + "/checkpoints/update-000000007")) std::this_thread::yield();
    later = 15;
  });
  const TrainOutcome outcome = train(options_, {.run = run("stopped"), .stop = &later});
  bell.join();
  EXPECT_TRUE(fs::exists(outcome.checkpoint));
  train(options_, {.run = run("stopped"), .resume = true});
  expect_same_run("whole", "stopped");
}

TEST_F(TrainerTest, TwoThreadsGiveTheSameBits) {
  train(options_, {.run = run("one")});
  options_.train.threads = 2;
  train(options_, {.run = run("two")});
  expect_same_run("one", "two");
}

TEST_F(TrainerTest, InBf16ItLearnsAndIsKept) {
  if (!has_bf16_products()) GTEST_SKIP() << "oneDNN multiplies no bf16 on this processor";
  options_.model.d_model = 64;
  options_.model.d_ff = 128;
  options_.train.precision = Precision::fp32;
  train(options_, {.run = run("fp32")});
  options_.train.precision = Precision::bf16;
  train(options_, {.run = run("whole")});
  const auto loss_of = [&](const std::string& name) {
    double last = 0;
    for (const auto& line : log(name)) last = line.value("loss", last);
    return last;
  };
  const double loss = loss_of("fp32"), loss_bf16 = loss_of("whole");
  EXPECT_NEAR(loss_bf16, loss, 0.02 * loss);
  EXPECT_NE(loss_bf16, loss);

  std::atomic<int> stop = 0;
  std::thread stopper([&] {
    while (!fs::exists(run("stopped") + "/checkpoints/update-000000007")) std::this_thread::yield();
    stop = 1;
  });
  train(options_, {.run = run("stopped"), .stop = &stop});
  stopper.join();
  options_.train.precision = Precision::automatic;  // goes on in bf16 all the same
  options_.train.threads = 2;
  train(options_, {.run = run("stopped"), .resume = true});
  for (const char* file : {"/model.safetensors", "/optimizer.safetensors"})
    EXPECT_TRUE(read_file(last_checkpoint("whole") + file) == read_file(last_checkpoint("stopped") + file))
        << file;
}

TEST_F(TrainerTest, PartsOfABatchGiveTheSameGradient) {
  options_.train.updates = 1;
  options_.train.clip_norm = 0;
  train(options_, {.run = run("whole")});
  options_.data.micro_batch_tokens = 60;
  train(options_, {.run = run("parts")});
  EXPECT_LT(distance("whole", "parts"), 1e-6);
  options_.train.seed = 2;
  train(options_, {.run = run("other")});
  EXPECT_GT(distance("whole", "other"), 1e-1);
}

TEST_F(TrainerTest, AccumulationCountsUpdates) {
  options_.train.accumulate = 3;
  train(options_, {.run = run("a")});
  const auto state = nlohmann::json::parse(read_file(last_checkpoint("a") + "/state.json"));
  EXPECT_EQ(state.at("update"), 23);
}

TEST_F(TrainerTest, KeepsTheLastCheckpointsOnly) {
  options_.checkpoint.keep_last = 2;
  train(options_, {.run = run("a")});
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run("a") + "/checkpoints"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"update-000000021", "update-000000023"}));
  EXPECT_TRUE(fs::exists(run("a") + "/best/model.safetensors"));
}

TEST_F(TrainerTest, AveragesTheLastCheckpoints) {
  options_.train.average_last = 2;
  options_.train.ema_decay = 0;
  train(options_, {.run = run("a")});
  const auto mean = SafetensorsFile::open(run("a") + "/model/model.safetensors");
  const auto one = SafetensorsFile::open(run("a") + "/checkpoints/update-000000021/model.safetensors");
  const auto two = SafetensorsFile::open(last_checkpoint("a") + "/model.safetensors");
  const std::string name = "encoder.layers.0.fc1.weight";
  EXPECT_NEAR(to_floats(mean.at(name))[3], (to_floats(one.at(name))[3] + to_floats(two.at(name))[3]) / 2, 1e-7);
}

TEST_F(TrainerTest, PatienceEndsTheRun) {
  options_.schedule.learning_rate = 1e-30;  // nothing gets better
  options_.validation.patience = 2;
  options_.train.updates = 100;
  EXPECT_EQ(train(options_, {.run = run("a")}).updates, 15);
}

TEST_F(TrainerTest, MinutesBecomeUpdates) {
  options_.train.updates = 0;
  options_.train.minutes = 0.02;
  const TrainOutcome outcome = train(options_, {.run = run("a")});
  EXPECT_GE(outcome.updates, 10);
  const auto state = nlohmann::json::parse(read_file(outcome.checkpoint + "/state.json"));
  EXPECT_EQ(state.at("last_update"), outcome.updates);
}

TEST_F(TrainerTest, EpochsBecomeUpdates) {
  options_.train.updates = 0;
  options_.train.epochs = 2;
  train(options_, {.run = run("a")});
  EXPECT_EQ(log("a").front().at("epoch"), 1);
  EXPECT_EQ(log("a").back().at("epoch"), 2);
  EXPECT_EQ(nlohmann::json::parse(read_history(run("a") + "/model").back()).at("epoch"), 2);
}

TEST_F(TrainerTest, RefusesWhatWouldLoseWork) {
  train(options_, {.run = run("a")});
  EXPECT_NE(error_message([&] { train(options_, {.run = run("a")}); }).find("--resume"), std::string::npos);
  options_.data.train = {folder_ / "train.a"};
  EXPECT_NE(error_message([&] { train(options_, {.run = run("c")}); }).find("data.train"), std::string::npos);
}

TEST_F(TrainerTest, ResumingARunThatHasNoCheckpointBeginsIt) {
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true}).updates, 23);
  train(options_, {.run = run("b")});
  expect_same_run("a", "b");
}

TEST_F(TrainerTest, OneProcessAtATime) {
  const RunFolder held(run("a"));
  EXPECT_NE(error_message([&] { train(options_, {.run = run("a")}); }).find("another process trains"),
            std::string::npos);
}

TEST_F(TrainerTest, WhatWasLeftHalfWrittenIsRemoved) {
  { const RunFolder begun(run("a")); }
  const std::string gone = fmt::format(".tmp-{}-0", ended_process());
  const std::string checkpoints = run("a") + "/checkpoints/";
  fs::create_directories(checkpoints + "update-000000007" + gone);
  write_file_atomically(checkpoints + "update-000000007" + gone + "/state.json", "{");
  write_file_atomically(checkpoints + "update-000000007" + gone + "/model.safetensors" + gone, "half");
  write_file_atomically(run("a") + "/config.json" + gone, "{");
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

TEST_F(TrainerTest, DivergenceStopsTheRun) {
  options_.schedule.kind = ScheduleKind::constant;
  options_.schedule.learning_rate = 1e30;
  options_.schedule.warmup = 1;
  options_.validation.every_updates = 0;
  options_.data.valid = {};
  EXPECT_NE(error_message([&] { train(options_, {.run = run("a")}); }).find("not finite"), std::string::npos);
  EXPECT_TRUE(fs::exists(run("a") + "/diverged.json"));
}

/// Of a checkpoint with one weight that is far too large, the op that it breaks is named, and the text.
TEST_F(TrainerTest, DivergenceIsTracedToItsOp) {
  options_.train.updates = 7;
  train(options_, {.run = run("a")});
  const std::string weights = run("a") + "/checkpoints/update-000000007/model.safetensors";
  const auto config = load_model_config(run("a") + "/model");
  const Transformer model(config, make_reference_backend(), DType::f32, std::nullopt);
  load_weights(weights, model);
  for (const Parameter& parameter : model.parameters())
    if (parameter.name == "decoder.layers.0.fc1.weight")
      parameter.tensor.copy_from(*model.backend(),
                                 std::vector<float>(static_cast<size_t>(parameter.tensor.size()), 3e38f));
  write_parameters(weights, model.parameters(), *model.backend());
  options_.train.updates = 9;
  const std::string message = error_message([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(message.find("decoder.layers.0"), std::string::npos) << message;
  EXPECT_NE(message.find("feed_forward"), std::string::npos) << message;
  EXPECT_NE(message.find("going forward"), std::string::npos) << message;
  const auto report = nlohmann::json::parse(read_file(run("a") + "/diverged.json"));
  EXPECT_EQ(report.at("update"), 8);
  const std::string source = report.at("sentences").at(0).at("source");
  EXPECT_NE(read_file(folder_ / "train.a").find(source + "\n"), std::string::npos) << source;
}

/// A text that ends in words that stand nowhere else: its loss leaps there, the run goes back, and on behind
/// them.
TEST_F(TrainerTest, ASpikeRollsBack) {
  std::string a = read_file(folder_ / "train.a"), b = read_file(folder_ / "train.b");
  for (int i = 0; i < 40; ++i) {
    a += "a b\n";
    b += fmt::format("u{} v{} w{} x{} y{}\n", i, i, i, i, i);
  }
  write_file_atomically(folder_ / "train.a", a);
  write_file_atomically(folder_ / "train.b", b);
  options_.data.shuffle = false;
  options_.train.on_spike = OnSpike::rollback;
  options_.train.spike_factor = 1.2;
  options_.train.updates = 40;
  options_.checkpoint.every_updates = 5;
  train(options_, {.run = run("a")});
  int64_t rollbacks = 0;
  std::set<int64_t> validated;
  for (const auto& line : log("a")) {
    if (line.contains("validation")) {
      EXPECT_TRUE(validated.insert(line.at("update").get<int64_t>()).second) << "twice";
    }
    if (line.contains("rollback_to")) {
      ++rollbacks;
      EXPECT_NE(line.at("reason").get<std::string>().find("leapt"), std::string::npos);
      EXPECT_EQ(line.at("rollback_to").get<int64_t>() % 5, 0);
    }
  }
  EXPECT_GT(rollbacks, 0);
  const auto state = nlohmann::json::parse(read_file(run("a") + "/checkpoints/update-000000040/state.json"));
  EXPECT_EQ(state.at("rollbacks").get<int64_t>(), rollbacks);
  options_.train.on_spike = OnSpike::stop;
  EXPECT_NE(error_message([&] { train(options_, {.run = run("b")}); }).find("leapt"), std::string::npos);
}

TEST_F(TrainerTest, StartsFromAModel) {
  train(options_, {.run = run("a")});
  options_.start.model = run("a") + "/model";
  options_.start.freeze = {Frozen::embeddings, Frozen::encoder};
  options_.model.d_model = 64;  // the model's own sizes count
  options_.data.train = {folder_ / "train.a", folder_ / "train.b", folder_ / "valid.a", folder_ / "valid.b"};
  options_.data.weights = {0.5, 3};
  options_.train.ema_decay = 0;
  train(options_, {.run = run("b")});
  const auto before = SafetensorsFile::open(run("a") + "/model/model.safetensors");
  const auto after = SafetensorsFile::open(last_checkpoint("b") + "/model.safetensors");
  ASSERT_EQ(before.names(), after.names());
  for (const auto& name : before.names()) {
    const bool frozen = name.starts_with("encoder.") || name.starts_with("shared.");
    EXPECT_EQ(to_floats(before.at(name)) == to_floats(after.at(name)), frozen) << name;
  }
  EXPECT_TRUE(read_file(run("a") + "/model/tokenizer.vocab") == read_file(run("b") + "/model/tokenizer.vocab"));
  const auto history = read_history(run("b") + "/model");
  ASSERT_EQ(history.size(), 2u);
  const auto last = nlohmann::json::parse(history[1]);
  EXPECT_EQ(last.at("settings").at("start").at("model"), run("a") + "/model");
  EXPECT_EQ(last.at("text").size(), 4u);
  EXPECT_EQ(last.at("pairs"), 220);
  EXPECT_EQ(last.at("updates"), 23);
}

TEST_F(TrainerTest, ATextThatChangedIsNoticed) {
  options_.train.updates = 7;
  train(options_, {.run = run("a")});
  options_.train.updates = 23;
  train(options_, {.run = run("b")});
  write_text(folder_ / "train.a", folder_ / "train.b", 200, 9);
  testing::internal::CaptureStderr();
  options_.train.updates = 23;
  train(options_, {.run = run("a"), .resume = true});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("train.a: is not what it was"), std::string::npos) << said;
  fs::remove(folder_ / "train.b");
  fs::create_directory(folder_ / "train.b");
  testing::internal::CaptureStderr();
  options_.train.updates = 25;
  train(options_, {.run = run("a"), .resume = true});
  const std::string said_again = testing::internal::GetCapturedStderr();
  EXPECT_NE(said_again.find("train.b: is no file any more"), std::string::npos) << said_again;
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
  auto state = nlohmann::json::parse(read_file(checkpoint + "/state.json"));
  state["instruction_set"] = "cpu, ABACUS, fp32";
  write_file_atomically(checkpoint + "/state.json", state.dump());
  options_.train.updates = 9;
  const std::string message = error_message([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(message.find("--other-processor"), std::string::npos) << message;
  EXPECT_NE(message.find("not be bit for bit"), std::string::npos) << message;
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true, .other_processor = true}).updates, 9);
  // From then on this is its processor, and what happened stays known.
  options_.train.updates = 11;
  const std::string again = train(options_, {.run = run("a"), .resume = true}).checkpoint;
  const auto changes = nlohmann::json::parse(read_file(again + "/state.json")).at("changes");
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
  TrainOptions wrong = options_;
  wrong.data.max_length = 5;
  const std::string message = error_message([&] { train(wrong, {.run = run("a"), .resume = true}); });
  EXPECT_NE(message.find("data.max_length (it was 256, and is 5 now)"), std::string::npos) << message;
  testing::internal::CaptureStderr();
  train(options_, {.run = run("a"), .resume = true});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("train.a: is gone; the run goes on with the text as it was"), std::string::npos) << said;
  EXPECT_NE(said.find("valid.b: is gone; the run goes on with the text as it was"), std::string::npos) << said;
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
  testing::internal::CaptureStderr();
  train(options_, {.run = run("a"), .resume = true});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("train.a: is not what it was"), std::string::npos) << said;
  EXPECT_NE(said.find("valid.b: is not what it was"), std::string::npos) << said;
  EXPECT_TRUE(read_file(run("whole") + "/model/model.safetensors") ==
              read_file(run("a") + "/model/model.safetensors"));
  EXPECT_EQ(log("whole"), log("a"));
}

TEST_F(TrainerTest, PartsAreKeptOnResume) {
  options_.data.micro_batch_tokens = 90;
  train(options_, {.run = run("whole")});
  options_.train.updates = 7;
  const std::string checkpoint = train(options_, {.run = run("a")}).checkpoint;
  EXPECT_EQ(nlohmann::json::parse(read_file(checkpoint + "/state.json")).at("part_tokens"), 90);
  // As if --fit had chosen them: the config says something else.
  auto state = nlohmann::json::parse(read_file(checkpoint + "/state.json"));
  state["options"]["data"]["micro_batch_tokens"] = 0;
  write_file_atomically(checkpoint + "/state.json", state.dump());
  fs::remove_all(run("a") + "/model");
  options_.data.micro_batch_tokens = 0;
  options_.train.updates = 23;
  const std::string last = train(options_, {.run = run("a"), .resume = true}).checkpoint;
  EXPECT_EQ(nlohmann::json::parse(read_file(last + "/state.json")).at("part_tokens"), 90);
}

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

TEST_F(TrainerTest, MoreMinutesAreMoreUpdates) {
  options_.train.updates = 0;
  options_.train.minutes = 0.01;
  const int64_t first = train(options_, {.run = run("a")}).updates;
  options_.train.minutes = 0.04;
  EXPECT_GT(train(options_, {.run = run("a"), .resume = true}).updates, first);
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
  const auto history = read_history(model);
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(history[0]).at("updates"), 23);
  EXPECT_EQ(nlohmann::json::parse(history[1]).at("updates"), 14);
  EXPECT_EQ(nlohmann::json::parse(history[1]).at("changes").at(0).at("what"), "train.updates");
}

TEST_F(TrainerTest, OfADamagedCheckpointTheOlderOneIsNamed) {
  train(options_, {.run = run("a")});
  const std::string weights = last_checkpoint("a") + "/model.safetensors";
  std::string bytes = read_file(weights);
  std::fill(bytes.end() - 200, bytes.end(), '\0');
  write_file_atomically(weights, bytes);
  const std::string message = error_message([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(message.find("is damaged"), std::string::npos) << message;
  EXPECT_NE(message.find("update-000000021 is whole: to go on from there, remove "), std::string::npos)
      << message;
  fs::remove_all(last_checkpoint("a"));
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true}).updates, 23);
}

TEST_F(TrainerTest, RefusesToBeginAnewWhereCheckpointsAreGone) {
  train(options_, {.run = run("a")});
  fs::remove_all(run("a") + "/checkpoints");
  const std::string model = read_file(run("a") + "/model/model.safetensors");
  EXPECT_NE(
      error_message([&] { train(options_, {.run = run("a"), .resume = true}); }).find("checkpoints are gone"),
      std::string::npos);
  fs::rename(run("a") + "/model", folder_ / "kept");
  EXPECT_NE(
      error_message([&] { train(options_, {.run = run("a"), .resume = true}); }).find("checkpoints are gone"),
      std::string::npos);
  EXPECT_EQ(read_file(folder_ / "kept/model.safetensors"), model);
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
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run("a") + "/checkpoints"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"update-000000005", "update-000000023"}));
  // Killed after that checkpoint and before its best model was stored.
  fs::copy(run("a"), run("b"), fs::copy_options::recursive);
  for (const char* part : {"/best", "/model", "/checkpoints/update-000000023"}) fs::remove_all(run("b") + part);
  train(options_, {.run = run("b"), .resume = true});
  expect_same_run("a", "b");
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
  const auto newest = nlohmann::json::parse(read_history(run("a") + "/model").back());
  EXPECT_EQ(newest.at("updates"), newest.at("best").at("update"));
  EXPECT_GT(newest.at("updates").get<int64_t>(), 5);
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

/// Epochs are counted by what was read, whatever batches are from then on.
TEST_F(TrainerTest, EpochsStayEpochsWithOtherBatches) {
  options_.train.updates = 0;
  options_.train.epochs = 1;
  train(options_, {.run = run("a")});
  options_.train.epochs = 3;
  options_.train.accumulate = 2;
  const std::string checkpoint = train(options_, {.run = run("a"), .resume = true}).checkpoint;
  const auto state = nlohmann::json::parse(read_file(checkpoint + "/state.json"));
  EXPECT_NEAR(state.at("epoch").get<double>() + state.at("place").get<double>() / 200, 3, 0.35);
}

/// A loss whose perplexity is larger than any number, as after a bad start.
TEST_F(TrainerTest, AScoreThatIsNoNumberIsNeverTheBest) {
  options_.validation.best_by = Metric::perplexity;
  options_.validation.metrics = {Metric::loss, Metric::perplexity};
  options_.schedule.kind = ScheduleKind::constant;
  options_.schedule.learning_rate = 100;
  options_.schedule.warmup = 1;
  options_.train.ema_decay = 0;
  options_.train.updates = 10;
  const TrainOutcome outcome = train(options_, {.run = run("a")});
  bool overflowed = false;
  for (const auto& line : log("a"))
    if (line.contains("validation")) overflowed |= line.at("validation").at("perplexity").is_null();
  EXPECT_TRUE(overflowed) << "the test needs a loss above 709";
  options_.train.updates = 12;
  EXPECT_EQ(train(options_, {.run = run("a"), .resume = true}).updates, 12);
  EXPECT_FALSE(outcome.model.empty());
}

/// Stopped while its text is encoded, a run says so at once, and leaves what can be begun again.
TEST_F(TrainerTest, AStopIsNoticedWhileTextIsEncoded) {
  const std::atomic<int> stop{15};
  const TrainOutcome outcome = train(options_, {.run = run("a"), .stop = &stop});
  EXPECT_EQ(outcome.updates, 0);
  EXPECT_FALSE(fs::exists(run("a") + "/encoded-text"));
  const TrainOptions again = load_train_options(run("a") + "/config.json");
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
