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
#include "model_folder/model_folder.h"
#include "model_folder/provenance.h"
#include "temporary_folder.h"
#include "train/copying.h"
#include "train/forecast.h"
#include "train/replica.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// Copying that can be disturbed: stopped during an update, or given losses that look like spikes.
struct Disturbance {
  int stop_at = 0;        ///< the number of the update during which the run is asked to stop; 0: none
  bool spikes = false;    ///< the batch of sample 0 seems to have a large loss
  std::string file = {};  ///< a file that the task writes into models
  mutable std::atomic<int> stop{0}, updates{0};
};

class DisturbedConfig : public CopyingConfig {
 public:
  DisturbedConfig(const CopyingOptions& options, const Disturbance& disturbance)
      : CopyingConfig(options), options_(options), disturbance_(disturbance) {}

  std::unique_ptr<Task> open(const TaskStart& start) const override {
    if (start.stop && start.stop->load() != 0) throw Cancelled();
    return std::make_unique<Disturbed>(options_, disturbance_);
  }

 private:
  class Disturbed : public Copying {
   public:
    Disturbed(const CopyingOptions& options, const Disturbance& d) : Copying(options), disturbance_(d) {}
    Tensor loss(const Transformer& model, const Batch& batch, const ops::LossOptions& options,
                Context& context) const override {
      const bool forecast = context.backend().name() == "meta";
      if (context.recording() && !forecast && ++disturbance_.updates == disturbance_.stop_at)
        disturbance_.stop = 1;
      Tensor loss = Copying::loss(model, batch, options, context);
      if (disturbance_.spikes && context.recording() && std::ranges::count(batch.samples, 0) > 0)
        context.backend().run(kernel::Scale{loss.view(), loss.view(), 100});
      return loss;
    }
    void write(const std::string& folder) const override {
      if (!disturbance_.file.empty()) write_file_atomically(folder + "/" + disturbance_.file, "x");
    }

   private:
    const Disturbance& disturbance_;
  };

  CopyingOptions options_;
  const Disturbance& disturbance_;
};

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
    options_.train.precision = Precision::fp32;
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
  TrainOutcome train_disturbed(const std::string& name, const Disturbance& disturbance) const {
    return train(DisturbedConfig(options_, disturbance),
                 {.run = run(name), .resume = true, .stop = &disturbance.stop});
  }
  /// Stops a run during an update, and resumes it.
  void train_in_two(const std::string& name, int update, bool spikes) const {
    EXPECT_EQ(train_disturbed(name, {.stop_at = update, .spikes = spikes}).model, "");
    EXPECT_NE(train_disturbed(name, {.spikes = spikes}).model, "");
  }
  std::vector<std::string> checkpoints(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(run(name) + "/checkpoints"))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
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
      for (const char* time : {"seconds", "seconds_left", "tokens_per_second", "seconds_waited", "memory_mb"})
        lines.back().erase(time);
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

/// The checkpoint of a stop is one more than an uninterrupted run has: it must not count.
TEST_F(TaskTest, AStopChangesNoMeanOfCheckpoints) {
  options_.train.updates = 23;
  options_.train.average_last = 3;
  options_.checkpoint.every_updates = 7;
  options_.checkpoint.keep_last = 3;
  train_disturbed("whole", {});
  for (const int update : {3, 14, 17, 22}) {
    SCOPED_TRACE(update);
    const std::string name = fmt::format("part{}", update);
    train_in_two(name, update, /*spikes=*/false);
    EXPECT_EQ(checkpoints(name), checkpoints("whole"));
    EXPECT_TRUE(read_file(run(name) + "/model/model.safetensors") ==
                read_file(run("whole") + "/model/model.safetensors"));
  }
}

TEST_F(TaskTest, AStopChangesNoRollback) {
  options_.checkpoint.every_updates = 7;
  options_.train.on_spike = OnSpike::rollback;
  options_.train.spike_factor = 3;
  train_disturbed("whole", {.spikes = true});
  EXPECT_NE(read_file(run("whole") + "/train.jsonl").find("rollback"), std::string::npos);
  for (const int update : {5, 17, 19, 30}) {
    SCOPED_TRACE(update);
    const std::string name = fmt::format("part{}", update);
    train_in_two(name, update, /*spikes=*/true);
    EXPECT_TRUE(read_file(run(name) + "/model/model.safetensors") ==
                read_file(run("whole") + "/model/model.safetensors"));
  }
}

TEST_F(TaskTest, AStopWhileDataAreReadSaysWhereTheRunIs) {
  train_run("a");
  Disturbance stopped;
  stopped.stop = 1;
  const TrainOutcome outcome = train_disturbed("a", stopped);
  EXPECT_EQ(outcome.model, "");
  EXPECT_EQ(outcome.checkpoint, checkpoint("a", 40));
  EXPECT_EQ(outcome.updates, 40);
  EXPECT_EQ(train_disturbed("b", stopped).checkpoint, "");
}

/// A folder with a file that no model has could never be replaced.
TEST_F(TaskTest, WritesNoFilesThatAreUnknown) {
  const std::string message = error_message([&] { train_disturbed("a", {.file = "labels.txt"}); });
  EXPECT_NE(message.find("is not the name of a file of a model folder"), std::string::npos) << message;
  EXPECT_NE(message.find("labels.txt"), std::string::npos) << message;
}

TEST_F(TaskTest, KeysOfItsOwnAreRefusedOnResumeUnlessItSaysOtherwise) {
  class Lenient : public CopyingConfig {
   public:
    using CopyingConfig::CopyingConfig;
    OnResume on_resume(std::string_view key) const override {
      return key == "rows" ? OnResume::takes_effect : OnResume::refused;
    }
  };
  train_run("a");
  options_.rows = 300;
  const std::string message = error_message([&] { train_run("a", /*resume=*/true); });
  EXPECT_NE(message.find("rows (it was 200, and is 300 now)"), std::string::npos) << message;
  const std::string later = error_message([&] { train(Lenient(options_), {.run = run("a"), .resume = true}); });
  EXPECT_NE(later.find("the data are not those of the run"), std::string::npos) << later;
}

/// Stored options are compared by their names, whatever their order.
TEST_F(TaskTest, MayLeaveStoredOptionsAsTheyAre) {
  class Unchanged : public CopyingConfig {
   public:
    using CopyingConfig::CopyingConfig;
    OptionNode read_stored(OptionNode stored) const override { return stored; }
  };
  train_run("a");
  options_.train.updates = 45;
  EXPECT_EQ(train(Unchanged(options_), {.run = run("a"), .resume = true}).updates, 45);
  const std::string path = checkpoint("a", 45) + "/state.json";
  auto state = nlohmann::json::parse(read_file(path));
  state["options"].erase("rows");
  write_file_atomically(path, state.dump());
  const std::string message =
      error_message([&] { train(Unchanged(options_), {.run = run("a"), .resume = true}); });
  EXPECT_NE(message.find("have no 'rows'"), std::string::npos) << message;
}

TEST_F(TaskTest, TheScoreThatDecidesMustBeThereAndStayTheSame) {
  options_.best_by = "acuracy";
  const std::string message = error_message([&] { train_run("a"); });
  EXPECT_NE(message.find("no score 'acuracy'"), std::string::npos) << message;
  EXPECT_NE(message.find("it has accuracy, loss, perplexity"), std::string::npos) << message;
  options_.best_by = "perplexity";
  train_run("b");
  options_.best_by = "accuracy";
  const std::string other = error_message([&] { train_run("b", /*resume=*/true); });
  EXPECT_NE(other.find("it was perplexity, and is accuracy now"), std::string::npos) << other;
}

/// The trainer itself makes sure that scores of other validation data are not compared.
TEST_F(TaskTest, OtherValidationDataAreRefused) {
  train_run("a");
  const std::string path = checkpoint("a", 40) + "/state.json";
  auto state = nlohmann::json::parse(read_file(path));
  EXPECT_EQ(state.at("validation_text"), "digits 20");
  state["validation_text"] = "digits 33";
  write_file_atomically(path, state.dump());
  options_.train.updates = 50;
  const std::string message = error_message([&] { train_run("a", /*resume=*/true); });
  EXPECT_NE(message.find("the validation data are not those of the run"), std::string::npos) << message;
}

TEST_F(TaskTest, PatienceNeedsValidationData) {
  class Unvalidated : public CopyingConfig {
   public:
    explicit Unvalidated(const CopyingOptions& options) : CopyingConfig(options), options_(options) {}
    std::unique_ptr<Task> open(const TaskStart&) const override {
      struct WithoutData : Copying {
        using Copying::Copying;
        const Dataset* validation_data() const override { return nullptr; }
      };
      return std::make_unique<WithoutData>(options_);
    }

   private:
    CopyingOptions options_;
  };
  options_.validation.patience = 1;
  const std::string message = error_message([&] { train(Unvalidated(options_), {.run = run("a")}); });
  EXPECT_NE(message.find("validation.patience needs validation data"), std::string::npos) << message;
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
  const int64_t weights = parameter_count(task.model_config());
  EXPECT_EQ(whole.weights, 2 * 4 * weights);
  EXPECT_GT(whole.activations, 4 * parts.activations);
  EXPECT_GT(parts.activations, 0);
  // Forward, and backward to both operands: 2 operations for each weight of a product, three times.
  const Architecture& a = options_.model;
  const double multiplied =
      a.encoder_layers * (4.0 * a.d_model * a.d_model + 2.0 * a.d_model * a.d_ff) + 10.0 * a.d_model;
  EXPECT_DOUBLE_EQ(whole.operations_per_token, 6 * multiplied);
  EXPECT_DOUBLE_EQ(parts.operations_per_token, 6 * multiplied);
  EXPECT_EQ(fitting_parts(task, options_, 0, parts.total() - parts.now, /*fit=*/true).tokens, 512);
  // Weights that are not trained have neither gradients nor state of the optimizer.
  options_.start = {.model = "base", .freeze = {ModelPart::encoder}};
  const MemoryForecast frozen = forecast_memory(task, options_, 0);
  EXPECT_LT(frozen.weights, whole.weights);
  EXPECT_EQ(frozen.optimizer, 2 * (frozen.weights - 4 * weights));
  options_.start = {.model = "base", .freeze = {}, .lora_rank = 2};
  const int64_t adapters =
      parameter_count(with_adapters(task.model_config(), adapters_of(options_.start))) - weights;
  const MemoryForecast adapted = forecast_memory(task, options_, 0);
  EXPECT_EQ(adapted.weights, 4 * (weights + 2 * adapters));
  EXPECT_EQ(adapted.optimizer, 2 * 4 * adapters);
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
  const std::string state_path =
      checkpoint("a", 40) + "/state.json";  // whose hash of the weights is another now
  auto state = nlohmann::json::parse(read_file(state_path));
  state.erase("parts");
  write_file_atomically(state_path, state.dump());
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
