// A task of which src/train/ does not know a word is trained, validated, resumed, forecast, and found out where
// its numbers break.
#include "train/task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "error_message.h"
#include "model/model_dir.h"
#include "model/provenance.h"
#include "temporary_folder.h"
#include "train/copying.h"
#include "train/forecast.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class TaskTest : public testing::Test {
 protected:
  TaskTest() {
    options_.model.d_model = 16;
    options_.model.d_ff = 32;
    options_.model.heads = 2;
    options_.model.encoder_layers = 1;
    options_.model.decoder_layers = 0;
    options_.model.tied_embeddings = TiedEmbeddings::none;
    options_.data.batch_tokens = 100;
    options_.train.updates = 40;
    options_.train.threads = 1;
    options_.train.label_smoothing = 0;
    options_.schedule.kind = ScheduleKind::constant;
    options_.schedule.learning_rate = 1e-2;
    options_.schedule.warmup = 5;
    options_.checkpoint.every_updates = 10;
    options_.checkpoint.keep_last = 10;
    options_.validation.every_updates = 10;
    options_.log.every_updates = 5;
    options_.best_by = "accuracy";
  }

  TrainOutcome train_run(const std::string& name, bool resume = false) const {
    return train(CopyingConfig(options_), {.run = run(name), .resume = resume});
  }
  std::string run(const std::string& name) const { return folder_ / name; }
  std::string checkpoint(const std::string& name, int update) const {
    return fmt::format("{}/checkpoints/update-{:09}", run(name), update);
  }
  /// The log without what the clock says.
  std::vector<nlohmann::json> log(const std::string& name) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(read_file(run(name) + "/train.jsonl"));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line));
      for (const char* time : {"seconds", "tokens_per_second", "seconds_waited"}) lines.back().erase(time);
    }
    return lines;
  }

  TemporaryFolder folder_;
  CopyingOptions options_;
};

TEST_F(TaskTest, IsLearnt) {
  const TrainOutcome outcome = train_run("a");
  EXPECT_EQ(outcome.updates, 40);
  const auto lines = log("a");
  EXPECT_GT(lines.front().at("loss").get<double>(), 1);
  const auto last = lines.back().at("validation");
  EXPECT_LT(last.at("loss").get<double>(), 0.5);
  EXPECT_NEAR(last.at("perplexity").get<double>(), std::exp(last.at("loss").get<double>()), 1e-9);
  EXPECT_GT(last.at("accuracy").get<double>(), 0.9);
  EXPECT_EQ(load_model_config(outcome.model).decoder_layers, 0);
  const auto step = nlohmann::json::parse(read_provenance(outcome.model).back());
  EXPECT_EQ(step.at("best").at("metric"), "accuracy");
  EXPECT_EQ(step.at("settings").at("rows"), 200);
}

TEST_F(TaskTest, IsResumedBitForBit) {
  train_run("whole");
  fs::copy(run("whole"), run("part"), fs::copy_options::recursive);
  for (const char* part : {"/model", "/checkpoints/update-000000030", "/checkpoints/update-000000040"})
    fs::remove_all(run("part") + part);
  train_run("part", /*resume=*/true);
  for (const char* file : {"/model.safetensors", "/optimizer.safetensors", "/config.json"})
    EXPECT_TRUE(read_file(checkpoint("whole", 40) + file) == read_file(checkpoint("part", 40) + file)) << file;
  EXPECT_EQ(log("whole"), log("part"));
}

TEST_F(TaskTest, KeysOfItsOwnAreRefusedOnResumeUnlessItSaysOtherwise) {
  train_run("a");
  options_.rows = 300;
  const std::string message = error_message([&] { train_run("a", /*resume=*/true); });
  EXPECT_NE(message.find("rows (it was 200, and is 300 now)"), std::string::npos) << message;
}

/// The hash of its data is all that a resume asks of them.
TEST_F(TaskTest, OtherDataAreNotTrainedOn) {
  train_run("a");
  const std::string path = checkpoint("a", 40) + "/state.json";
  auto state = nlohmann::json::parse(read_file(path));
  EXPECT_EQ(state.at("corpus"), "digits 200");
  state["corpus"] = "digits 100";
  write_file_atomically(path, state.dump());
  options_.train.updates = 50;
  const std::string message = error_message([&] { train_run("a", /*resume=*/true); });
  EXPECT_NE(message.find("the data are not those of the run"), std::string::npos) << message;
}

TEST_F(TaskTest, IsForecast) {
  options_.data.batch_tokens = 4096;
  options_.rows = 2000;
  const Copying task(options_);
  const MemoryForecast whole = forecast_memory(task, options_, 0), parts = forecast_memory(task, options_, 512);
  EXPECT_EQ(whole.weights, 2 * 4 * parameter_count(task.model_config()));
  EXPECT_GT(whole.activations, 4 * parts.activations);
  EXPECT_GT(parts.activations, 0);
  EXPECT_EQ(fitting_parts(task, options_, 0, parts.total() - parts.now, /*fit=*/true), 512);
}

/// Of a checkpoint with weights that are far too large, the layer that they break is named, and the samples.
TEST_F(TaskTest, DivergenceIsTracedToItsLayer) {
  train_run("a");
  const std::string weights = checkpoint("a", 40) + "/model.safetensors";
  Transformer model(load_model_config(run("a") + "/model"), make_backend({.device = "reference"}), DType::f32,
                    std::nullopt);
  load_weights(weights, model);
  for (Parameter& parameter : model.parameters())
    if (parameter.name == "encoder.layers.0.fc1.weight")
      parameter.tensor.copy_from(*model.backend(),
                                 std::vector<float>(static_cast<size_t>(parameter.tensor.size()), 3e38f));
  write_parameters(weights, model.parameters(), *model.backend());
  options_.train.updates = 50;
  const std::string message = error_message([&] { train_run("a", /*resume=*/true); });
  EXPECT_NE(message.find("encoder.layers.0"), std::string::npos) << message;
  EXPECT_NE(message.find("in the forward pass"), std::string::npos) << message;
  const auto report = nlohmann::json::parse(read_file(run("a") + "/diverged.json"));
  EXPECT_EQ(report.at("update"), 41);
  const auto sample = report.at("sentences").at(0);
  EXPECT_EQ(sample.at("length"), std::to_string(2 + sample.at("row").get<int64_t>() % 5));
}

}  // namespace
}  // namespace sixfold
