// Runs with several processes, which threads stand for.
#include "train/checkpoint.h"
#include "train/distributed/threads.h"
#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

class ProcessesTest : public TrainerTest {
 protected:
  void train_on(int processes, const std::string& name, bool resume = false) {
    on_processes(processes, [&](Processes& all) {
      train(options_, {.run = run(name), .resume = resume, .processes = &all});
    });
  }
};

/// The reference is one process with as many shards.
TEST_F(ProcessesTest, OneTwoAndFourGiveTheSameBits) {
  options_.train.shards = 4;
  train_on(1, "one");
  for (const int processes : {2, 3, 4}) {
    const std::string name = std::to_string(processes);
    train_on(processes, name);
    expect_same_run("one", name);
  }
}

TEST_F(ProcessesTest, TheNumberOfShardsIsThatOfTheProcessesAtFirst) {
  train_on(2, "two");
  EXPECT_EQ(Checkpoints::read_state(last_checkpoint("two")).shards, 2);
  options_.train.shards = 2;
  train_on(1, "one");
  options_.train.shards = 0;
  for (const char* file : {"/model.safetensors", "/optimizer.safetensors"})
    EXPECT_TRUE(read_file(last_checkpoint("one") + file) == read_file(last_checkpoint("two") + file)) << file;
}

TEST_F(ProcessesTest, AResumedRunMayHaveMoreOrFewer) {
  namespace fs = std::filesystem;
  options_.train.shards = 4;
  train_on(4, "whole");
  for (const auto& [kept, processes] : {std::pair(7, 1), std::pair(14, 3), std::pair(21, 2)}) {
    const std::string name = "from" + std::to_string(kept);
    fs::copy(run("whole"), run(name), fs::copy_options::recursive);
    fs::remove_all(run(name) + "/model");
    for (const auto& entry : fs::directory_iterator(run(name) + "/checkpoints"))
      if (entry.path().filename().string() > fmt::format("update-{:09}", kept)) fs::remove_all(entry.path());
    train_on(processes, name, true);
    expect_same_run("whole", name);
  }
}

TEST_F(ProcessesTest, MoreThanShardsAreRefused) {
  options_.train.shards = 2;
  EXPECT_NE(error_message([&] { train_on(3, "run"); }).find("train.shards is 2, so that at most 2 processes"),
            std::string::npos);
}

TEST_F(ProcessesTest, OtherConfigsOrTextsAreRefusedByName) {
  const auto with_other_options = [&](const std::function<void(TranslationOptions&)>& change) {
    return error_message([&] {
      on_processes(2, [&](Processes& all) {
        TranslationOptions options = options_;
        if (!all.is_root()) change(options);
        train(options, {.run = run("run"), .resume = true, .processes = &all});
      });
    });
  };
  const std::string config = with_other_options([](TranslationOptions& o) { o.train.clip_norm = 2; });
  EXPECT_NE(config.find("the config of process 1 on "), std::string::npos) << config;
  EXPECT_NE(config.find("\"clip_norm\": 2"), std::string::npos) << config;
}

TEST_F(ProcessesTest, AccumulatedMicroBatchesAreThoseOfOneProcess) {
  options_.train.shards = 2;
  options_.train.accumulate = 2;
  options_.data.micro_batch_tokens = 60;
  options_.train.average_last = 3;
  train_on(1, "one");
  train_on(2, "two");
  expect_same_run("one", "two");
}

/// The average of the weights is divided like them, and batch norm has buffers.
TEST_F(ProcessesTest, AveragesAndBuffersAreThoseOfOneProcess) {
  options_.train.shards = 3;
  options_.train.ema_decay = 0.9f;
  options_.model.norm = Norm::batch;
  train_on(1, "one");
  train_on(2, "two");
  expect_same_run("one", "two");
}

TEST_F(ProcessesTest, ASpikeRollsAllBackAsItDoesOne) {
  add_a_spike();
  options_.train.shards = 2;
  options_.train.on_spike = OnSpike::rollback;
  train_on(1, "one");
  train_on(2, "two");
  EXPECT_NE(read_file(run("two") + "/train.jsonl").find("rollback_to"), std::string::npos);
  EXPECT_EQ(log("one"), log("two"));
  EXPECT_TRUE(read_file(run("one") + "/model/model.safetensors") ==
              read_file(run("two") + "/model/model.safetensors"));
}

TEST_F(ProcessesTest, ABf16WireTrainsToo) {
  options_.distributed.wire = WireType::bf16;
  train_on(2, "two");
  options_.distributed.wire = WireType::fp32;
  options_.train.shards = 2;
  train_on(1, "one");
  const auto last_loss = [&](const std::string& name) {
    double loss = 0;
    for (const auto& line : log(name))
      if (line.contains("loss")) loss = line["loss"];
    return loss;
  };
  EXPECT_NE(last_loss("two"), last_loss("one"));
  EXPECT_NEAR(last_loss("two"), last_loss("one"), 0.02 * last_loss("one"));
}

}  // namespace
}  // namespace sixfold
