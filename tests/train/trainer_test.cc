#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "backend/cpu/bf16.h"
#include "formats/safetensors.h"
#include "model_folder/model_folder.h"
#include "model_folder/provenance.h"
#include "train/loss_guard.h"
#include "train/run_folder.h"
#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// The mean gradients that the optimizer remembers after one update: a tenth of the gradient.
std::vector<float> gradients(const std::string& run) {
  const auto file = SafetensorsFile::open(run + "/checkpoints/update-000000001/optimizer.safetensors");
  std::vector<float> all;
  for (const auto& tensor : file.names()) {
    if (!tensor.starts_with("moment1.")) continue;
    const auto values = to_floats(file.at(tensor));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

double distance(const std::string& a, const std::string& b) {
  const auto x = gradients(a), y = gradients(b);
  double apart = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    apart += (x[i] - y[i]) * (x[i] - y[i]);
    size += x[i] * x[i];
  }
  return std::sqrt(apart / size);
}

TEST_F(TrainerTest, MakesAModelFolderAndLearns) {
  options_.train.updates = 300;
  options_.validation.every_updates = 100;
  options_.log.every_updates = 100;
  std::string entries;
  const TrainOutcome outcome =
      train(options_, {.run = run("a"), .entry = [&](const std::string& entry) { entries += entry + "\n"; }});
  EXPECT_EQ(entries, read_file(run("a") + "/train.jsonl"));
  EXPECT_EQ(outcome.model, run("a") + "/model");
  EXPECT_EQ(outcome.updates, 300);
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.vocab"})
    EXPECT_TRUE(fs::exists(outcome.model + "/" + file));
  const auto lines = log("a");
  EXPECT_GT(lines.front().at("loss").get<double>(), lines[lines.size() - 2].at("loss").get<double>() + 0.5);
  // The log begins with the first update, and tells the speed and the time that is left.
  const std::string text = read_file(run("a") + "/train.jsonl");
  const auto first = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(first.at("update"), 1);
  EXPECT_GT(first.at("tokens_per_second"), 0);
  EXPECT_GT(first.at("seconds_left"), 0);
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

/// A checkpoint of which a file comes from another run would go on as a mixture of both.
TEST_F(TrainerTest, FilesOfAnotherCheckpointAreRefused) {
  options_.train.updates = 14;
  train(options_, {.run = run("one")});
  options_.train.seed = 2;
  train(options_, {.run = run("two")});
  options_.train.seed = 1, options_.train.updates = 23;
  const std::string checkpoint = "/checkpoints/update-000000014/";
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "config.json"}) {
    fs::copy(run("one"), run(file), fs::copy_options::recursive);
    const std::string path = run(file) + checkpoint + file;
    if (file == std::string("config.json")) {
      std::string config = read_file(path);
      config.replace(config.find("\"heads\": 2"), 10, "\"heads\": 4");
      write_file_atomically(path, config);
    } else {
      fs::copy_file(run("two") + checkpoint + file, path, fs::copy_options::overwrite_existing);
    }
    const std::string message = error_message([&] { train(options_, {.run = run(file), .resume = true}); });
    EXPECT_NE(message.find("are not those of one checkpoint"), message.npos) << file << ": " << message;
  }
  train(options_, {.run = run("one"), .resume = true});
}

/// It would be noticed when the run has ended, and the result would be none.
TEST_F(TrainerTest, ADamagedBestModelIsNoticedAtOnce) {
  options_.train.updates = 21;
  train(options_, {.run = run("run")});
  const std::string best = run("run") + "/best/model.safetensors";
  std::string bytes = read_file(best);
  bytes[bytes.size() - 3] ^= 1;
  write_file_atomically(best, bytes);
  const std::string state_path = run("run") + "/checkpoints/update-000000021/state.json";
  auto state = nlohmann::json::parse(read_file(state_path));
  state["best_update"] = 20;  // the model of the checkpoint's own update would be stored again
  write_file_atomically(state_path, state.dump());
  options_.train.updates = 23;
  testing::internal::CaptureStderr();
  const TrainOutcome outcome = train(options_, {.run = run("run"), .resume = true});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("best/model.safetensors: is damaged"), said.npos) << said;
  EXPECT_NE(said.find("the next validation will count as the best so far"), said.npos) << said;
  EXPECT_TRUE(fs::exists(outcome.model + "/model.safetensors"));
}

TEST_F(TrainerTest, TwoThreadsGiveTheSameBits) {
  train(options_, {.run = run("one")});
  options_.train.threads = 2;
  train(options_, {.run = run("two")});
  expect_same_run("one", "two");
}

TEST_F(TrainerTest, InBf16ItLearnsAndIsKept) {
  if (!best_bf16_kernel()) GTEST_SKIP() << "this processor has no bf16 products";
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

  // AMX and AVX512-BF16 give different bits, so that the one is another processor for the other.
  auto state = state_of(last_checkpoint("whole"));
  EXPECT_EQ(state.at("bf16_instructions"), best_bf16_kernel().name);
  state["bf16_instructions"] = "ABACUS";
  write_file_atomically(last_checkpoint("whole") + "/state.json", state.dump());
  const std::string message = error_message([&] { train(options_, {.run = run("whole"), .resume = true}); });
  EXPECT_NE(message.find("bf16 by ABACUS"), std::string::npos) << message;
  EXPECT_NE(message.find("--other-processor"), std::string::npos) << message;
  const std::string checkpoint =
      train(options_, {.run = run("whole"), .resume = true, .other_processor = true}).checkpoint;
  EXPECT_NE(checkpoint, "");
}

TEST_F(TrainerTest, PartsOfABatchGiveTheSameGradient) {
  options_.train.updates = 1;
  options_.train.clip_norm = 0;
  train(options_, {.run = run("whole")});
  options_.data.micro_batch_tokens = 60;
  train(options_, {.run = run("parts")});
  EXPECT_LT(distance(run("whole"), run("parts")), 1e-6);
  options_.train.seed = 2;
  train(options_, {.run = run("other")});
  EXPECT_GT(distance(run("whole"), run("other")), 1e-1);
}

TEST_F(TrainerTest, ShardsOfABatchGiveTheSameGradient) {
  options_.train.updates = 1;
  options_.train.clip_norm = 0;
  train(options_, {.run = run("whole")});
  options_.train.shards = 3;
  train(options_, {.run = run("shards")});
  EXPECT_LT(distance(run("whole"), run("shards")), 1e-6);
  EXPECT_GT(distance(run("whole"), run("shards")), 0);
}

TEST_F(TrainerTest, AResumedRunKeepsItsShardsUnlessItIsToldOthers) {
  options_.train.shards = 3;
  for (const char* name : {"whole", "resumed"}) train(options_, {.run = run(name)});
  fs::remove_all(last_checkpoint("resumed"));
  options_.train.threads = 2;
  train(options_, {.run = run("resumed"), .resume = true});
  for (const char* file : {"/model.safetensors", "/optimizer.safetensors"})
    EXPECT_TRUE(read_file(last_checkpoint("whole") + file) == read_file(last_checkpoint("resumed") + file))
        << file;
  EXPECT_EQ(state_of(last_checkpoint("resumed")).at("shards"), 3);
  fs::remove_all(last_checkpoint("resumed"));
  options_.train.shards = 2;
  train(options_, {.run = run("resumed"), .resume = true});
  EXPECT_EQ(state_of(last_checkpoint("resumed")).at("shards"), 2);
}

TEST_F(TrainerTest, AccumulationCountsUpdates) {
  options_.train.accumulate = 3;
  options_.train.shards = 2;
  train(options_, {.run = run("whole")});
  const auto state = state_of(last_checkpoint("whole"));
  EXPECT_EQ(state.at("update"), 23);
  expect_resumes_as_whole();
}

TEST_F(TrainerTest, KeepsTheLastCheckpointsOnly) {
  options_.checkpoint.keep_last = 2;
  train(options_, {.run = run("a")});
  EXPECT_EQ(checkpoints("a"), (std::vector<std::string>{"update-000000021", "update-000000023"}));
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

/// Of the moving averages, if there are any.
TEST_F(TrainerTest, AveragesTheLastMovingAverages) {
  options_.train.average_last = 2;
  train(options_, {.run = run("a")});
  const auto mean = SafetensorsFile::open(run("a") + "/model/model.safetensors");
  const auto one = SafetensorsFile::open(run("a") + "/checkpoints/update-000000021/optimizer.safetensors");
  const auto two = SafetensorsFile::open(last_checkpoint("a") + "/optimizer.safetensors");
  const std::string name = "encoder.layers.0.fc1.weight", average = "average." + name;
  EXPECT_NEAR(to_floats(mean.at(name))[3], (to_floats(one.at(average))[3] + to_floats(two.at(average))[3]) / 2,
              1e-7);
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
  const TrainOutcome outcome = train(options_, {.run = run("a"), .clock = counting_clock(0.02)});
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
  EXPECT_EQ(nlohmann::json::parse(read_provenance(run("a") + "/model").back()).at("epoch"), 2);
}

/// However many batches each epoch has.
TEST_F(TrainerTest, EpochsAreExact) {
  options_.train.updates = 0;
  options_.train.epochs = 30;
  options_.data.batch_tokens = 60;
  options_.validation.every_updates = options_.log.every_updates = 1000;
  const auto state = state_of(train(options_, {.run = run("a")}).checkpoint);
  EXPECT_EQ(state.at("epoch"), 30);
  EXPECT_EQ(state.at("place"), 0);
}

TEST_F(TrainerTest, RefusesWhatWouldLoseWork) {
  train(options_, {.run = run("a")});
  EXPECT_NE(error_message([&] { train(options_, {.run = run("a")}); }).find("--resume"), std::string::npos);
  options_.data.train = {folder_ / "train.a"};
  EXPECT_NE(error_message([&] { train(options_, {.run = run("c")}); }).find("data.train"), std::string::npos);
}

TEST_F(TrainerTest, OneProcessAtATime) {
  const RunFolder held(run("a"));
  EXPECT_NE(error_message([&] { train(options_, {.run = run("a")}); }).find("another process is training"),
            std::string::npos);
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
  Transformer model(config, make_backend({.device = "reference"}), DType::f32, std::nullopt);
  load_weights(weights, model);
  for (Parameter& parameter : model.parameters())
    if (parameter.name == "decoder.layers.0.fc1.weight")
      parameter.tensor.copy_from(*model.backend(),
                                 std::vector<float>(static_cast<size_t>(parameter.tensor.size()), 3e38f));
  write_parameters(weights, model.parameters(), *model.backend());
  const std::string state_path =
      run("a") + "/checkpoints/update-000000007" + "/state.json";  // whose hash of the weights is another now
  auto state = nlohmann::json::parse(read_file(state_path));
  state.erase("parts");
  write_file_atomically(state_path, state.dump());
  options_.train.updates = 9;
  const std::string message = error_message([&] { train(options_, {.run = run("a"), .resume = true}); });
  EXPECT_NE(message.find("decoder.layers.0"), std::string::npos) << message;
  EXPECT_NE(message.find("feed_forward"), std::string::npos) << message;
  EXPECT_NE(message.find("in the forward pass"), std::string::npos) << message;
  const auto report = nlohmann::json::parse(read_file(run("a") + "/diverged.json"));
  EXPECT_EQ(report.at("update"), 8);
  const std::string source = report.at("sentences").at(0).at("source");
  EXPECT_NE(read_file(folder_ / "train.a").find(source + "\n"), std::string::npos) << source;
}

/// A text that ends in words that stand nowhere else: its loss leaps there, the run goes back, and on behind
/// them.
TEST_F(TrainerTest, ASpikeRollsBack) {
  add_a_spike();
  options_.train.on_spike = OnSpike::rollback;
  train(options_, {.run = run("a")});
  int64_t rollbacks = 0;
  std::set<int64_t> validated;
  for (const auto& line : log("a")) {
    if (line.contains("validation")) {
      EXPECT_TRUE(validated.insert(line.at("update").get<int64_t>()).second) << "twice";
    }
    if (line.contains("rollback_to")) {
      ++rollbacks;
      EXPECT_NE(line.at("reason").get<std::string>().find("the loss rose"), std::string::npos);
      EXPECT_EQ(line.at("rollback_to").get<int64_t>() % 5, 0);
    }
  }
  EXPECT_GT(rollbacks, 0);
  const auto state = nlohmann::json::parse(read_file(run("a") + "/checkpoints/update-000000040/state.json"));
  EXPECT_EQ(state.at("rollbacks").get<int64_t>(), rollbacks);
  // The text that was skipped counts: epochs end where they would have ended.
  const int epochs = state.at("epoch").get<int>() + 2;
  TranslationOptions by_epochs = options_;
  by_epochs.train.updates = 0, by_epochs.train.epochs = epochs;
  train(by_epochs, {.run = run("epochs")});
  const auto lines = log("epochs");
  EXPECT_TRUE(std::ranges::any_of(lines, [](const auto& line) { return line.contains("rollback_to"); }));
  int last = 0;
  for (const auto& line : lines)
    if (line.contains("epoch")) last = line.at("epoch").get<int>();
  EXPECT_EQ(last, epochs);
  options_.train.on_spike = OnSpike::stop;
  EXPECT_NE(error_message([&] { train(options_, {.run = run("b")}); }).find("the loss rose"),
            std::string::npos);
}

TEST_F(TrainerTest, StartsFromAModel) {
  train(options_, {.run = run("a")});
  options_.start.model = run("a") + "/model";
  options_.start.freeze = {ModelPart::embeddings, ModelPart::encoder};
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
  const auto history = read_provenance(run("b") + "/model");
  ASSERT_EQ(history.size(), 2u);
  const auto last = nlohmann::json::parse(history[1]);
  EXPECT_EQ(last.at("settings").at("start").at("model"), run("a") + "/model");
  EXPECT_EQ(last.at("text").size(), 4u);
  EXPECT_EQ(last.at("pairs"), 220);
  EXPECT_EQ(last.at("updates"), 23);
}

/// A loss that is finite, and far above that of guessing.
TEST_F(TrainerTest, ADivergedRunIsAnError) {
  options_.schedule.kind = ScheduleKind::constant;
  options_.schedule.learning_rate = 100;
  options_.schedule.warmup = 1;
  options_.train.ema_decay = 0;
  const auto diverges = [&](const std::string& name) {
    const std::string message = error_message([&] { train(options_, {.run = run(name)}); });
    EXPECT_NE(message.find("the run has diverged"), std::string::npos) << message;
    EXPECT_FALSE(fs::exists(run(name) + "/model"));
  };
  diverges("in training");
  options_.log.every_updates = 1000;
  diverges("at validation");
}

/// Terms with large factors are no divergence.
TEST(LossGuard, KnowsTheTermsOfTheLoss) {
  TrainOptions options;
  options.train.alignment_weight = 0;
  EXPECT_EQ(loss_terms(options), 1);
  options.teacher.weight = 3;
  EXPECT_EQ(loss_terms(options), 1) << "there is no teacher";
  options.teacher.model = "teacher";
  EXPECT_EQ(loss_terms(options), 4);
  options.train.alignment_weight = 100;
  EXPECT_EQ(loss_terms(options), 104);
  options.train.r_drop = 5;
  EXPECT_EQ(loss_terms(options), 2 * 104 + 5);
}

}  // namespace
}  // namespace sixfold
