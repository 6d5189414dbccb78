// The running averages of batch norms: they change with the update alone, and resume bit for bit.
#include <algorithm>
#include <cmath>

#include "discrete_backend.h"
#include "formats/safetensors.h"
#include "model/small_model.h"
#include "model_folder/model_folder.h"
#include "train/checkpoint.h"
#include "train/copying.h"
#include "train/forecast.h"
#include "train/non_finite.h"
#include "train/replica.h"
#include "train/task_without_data.h"
#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr float momentum = 0.25f;

TrainOptions replica_options() {
  TrainOptions options;
  options.train.seed = 3;
  options.train.clip_norm = 0.5;
  options.train.ema_decay = 0.9;
  return options;
}

const TaskWithoutData batch_norm_task([](ModelConfig& config) {
  config.norm = Norm::batch;
  config.batch_norm_momentum = momentum;
  config.dropout = 0.2f;
});
constexpr Context::Seeds seeds{3, 1};

using Values = std::vector<std::vector<double>>;

Values buffers_of(const Replica& replica) {
  Values values;
  for (const Parameter& buffer : replica.model().buffers())
    values.push_back(buffer.tensor.to_doubles(*replica.backend()));
  return values;
}

void update(Replica& replica, const UpdateBatch& batch) {
  const StepResult step = replica.gradients(batch, seeds);
  replica.update(1, 0.01, step.gradient_norm);
}

TEST(BatchNormTraining, BuffersChangeWithTheUpdateAlone) {
  Replica replica(make_backend(), batch_norm_task, replica_options()),
      other(make_backend(), batch_norm_task, replica_options());
  const Values initial = buffers_of(replica);
  replica.gradients(two_parts(1), seeds);  // a step that is not applied
  EXPECT_EQ(buffers_of(replica), initial);
  const StepResult step = replica.gradients(two_parts(5), seeds);
  EXPECT_EQ(buffers_of(replica), initial);
  replica.update(1, 0.01, step.gradient_norm);
  EXPECT_NE(buffers_of(replica), initial);
  update(other, two_parts(5));
  EXPECT_EQ(buffers_of(replica), buffers_of(other));
}

/// buffer = (1 - momentum) * buffer + momentum * statistic, for each part in their order.
TEST(BatchNormTraining, BuffersTakeUpEachPartInOrder) {
  Replica replica(make_backend({.device = "reference"}), batch_norm_task, replica_options(), DType::f64);
  Values expected = buffers_of(replica);
  const UpdateBatch batch = two_parts(1);
  for (const Batch& part : batch.shards[0]) {
    Tape tape;
    Context context(replica.backend(), replica.arena(), tape, seeds);
    batch_norm_task.loss(replica.model(), part, {}, context);
    const std::vector<BufferUpdate> updates = context.take_deferred();
    ASSERT_EQ(updates.size(), expected.size());
    for (size_t b = 0; b < updates.size(); ++b) {
      const auto statistic = updates[b].statistic.to_doubles(*replica.backend());
      const auto index = static_cast<size_t>(
          std::ranges::find_if(replica.model().buffers(),
                               [&](const Parameter& p) { return p.tensor.same_as(updates[b].buffer); }) -
          replica.model().buffers().begin());
      ASSERT_LT(index, expected.size());
      for (size_t i = 0; i < statistic.size(); ++i)
        expected[index][i] = (1 - momentum) * expected[index][i] + momentum * updates[b].factor * statistic[i];
    }
  }
  update(replica, batch);
  const Values actual = buffers_of(replica);
  for (size_t b = 0; b < actual.size(); ++b)
    for (size_t i = 0; i < actual[b].size(); ++i) EXPECT_NEAR(actual[b][i], expected[b][i], 1e-12);
}

TEST(BatchNormTraining, TheAverageOfTheWeightsLeavesBuffers) {
  Replica replica(make_backend(), batch_norm_task, replica_options());
  update(replica, two_parts(1));
  const Values buffers = buffers_of(replica);
  replica.optimizer().swap_average();
  EXPECT_EQ(buffers_of(replica), buffers);
  replica.optimizer().swap_average();
  EXPECT_EQ(buffers_of(replica), buffers);
  for (const NamedShape& parameter : replica.optimizer().state())
    EXPECT_EQ(parameter.name.find("running"), std::string::npos) << parameter.name;
}

TEST(BatchNormTraining, BuffersOfFrozenPartsStay) {
  TrainOptions options = replica_options();
  options.start.freeze = {ModelPart::encoder};
  Replica replica(make_backend(), batch_norm_task, options);
  const Values before = buffers_of(replica);
  update(replica, two_parts(1));
  const Values after = buffers_of(replica);
  for (size_t b = 0; b < before.size(); ++b)
    EXPECT_EQ(before[b] == after[b], replica.model().buffers()[b].part == ModelPart::encoder);
}

TEST(BatchNormTraining, IsTheSameInDiscreteMemory) {
  Replica host(make_backend({.device = "reference"}), batch_norm_task, replica_options()),
      device(std::make_shared<DiscreteBackend>(), batch_norm_task, replica_options());
  for (Replica* replica : {&host, &device}) update(*replica, two_parts(1));
  EXPECT_EQ(buffers_of(device), buffers_of(host));
}

TEST(BatchNormTraining, TwoThreadsGiveTheSameBits) {
  Replica one(make_backend(), batch_norm_task, replica_options()),
      two(make_backend({.threads = 2}), batch_norm_task, replica_options());
  for (Replica* replica : {&one, &two}) update(*replica, two_parts(1));
  EXPECT_EQ(buffers_of(one), buffers_of(two));
}

/// The replay that looks for the cause of a value that is not finite.
TEST(BatchNormTraining, AReplayLeavesBuffers) {
  Replica replica(make_backend(), batch_norm_task, replica_options());
  update(replica, two_parts(1));
  const Values buffers = buffers_of(replica);
  const UpdateBatch batch = two_parts(9);
  Update update_of_one(batch);
  const NonFiniteReport report = find_non_finite(
      {.task = batch_norm_task, .model = replica.model(), .seeds = seeds, .loss = {}}, update_of_one);
  EXPECT_TRUE(report.module.empty()) << report.module;
  EXPECT_EQ(buffers_of(replica), buffers);
}

/// What a rollback restores.
TEST(BatchNormTraining, ACheckpointRestoresBuffers) {
  const TemporaryFolder folder;
  Replica replica(make_backend(), batch_norm_task, replica_options());
  update(replica, two_parts(1));
  const Values saved = buffers_of(replica);
  TrainingState state;
  state.options = CopyingConfig(CopyingOptions()).options();
  const Checkpoints checkpoints(folder.path(), 1);
  checkpoints.save(replica.model(), replica.optimizer(), state, [](const std::string&) {});
  update(replica, two_parts(5));
  replica.gradients(two_parts(9), seeds);  // the step that is given up
  EXPECT_NE(buffers_of(replica), saved);
  Checkpoints::load(checkpoints.list().back(), replica.model(), replica.optimizer());
  EXPECT_EQ(buffers_of(replica), saved);
  replica.gradients(two_parts(5), seeds);
  EXPECT_EQ(buffers_of(replica), saved);
}

TEST(BatchNormTraining, ARunThatDoesNotFitIsToldWhatItsPartsMean) {
  CopyingOptions options;
  options.model.d_model = 16, options.model.d_ff = 32, options.model.heads = 2;
  options.model.encoder_layers = 1, options.model.decoder_layers = 0;
  options.model.tied_embeddings = TiedEmbeddings::none;
  options.model.norm = Norm::batch;
  options.data.batch_tokens = 4096;
  options.rows = 2000;
  const Copying copying(options);
  const MemoryForecast parts = forecast_memory(copying, options, 512);
  const int64_t available = parts.total() - parts.now;
  EXPECT_EQ(fitting_parts(copying, options, 0, available, /*fit=*/true).tokens, 512);
  const std::string message = error_message([&] { fitting_parts(copying, options, 0, available, false); });
  EXPECT_NE(message.find("--fit for a new run"), std::string::npos) << message;
  EXPECT_NE(message.find("norm: batch normalizes over a part"), std::string::npos) << message;
}

/// Batches are in two parts, the weights have a moving average, and validations come in between.
TEST_F(TrainerTest, WithBatchNormAResumedRunEqualsOneNeverStopped) {
  options_.model.norm = Norm::batch;
  options_.data.micro_batch_tokens = 160;
  train(options_, {.run = run("whole")});
  const auto file = SafetensorsFile::open(last_checkpoint("whole") + "/model.safetensors");
  const auto variance = to_floats(file.at("decoder.layers.0.final_layer_norm.running_var"));
  EXPECT_TRUE(std::ranges::none_of(variance, [](float v) { return v == 1; }));
  EXPECT_EQ(state_of(last_checkpoint("whole")).at("part_tokens"), 160);
  expect_resumes_as_whole({.fit = true});
}

TEST_F(TrainerTest, WithBatchNormItStartsFromAModelWithItsBuffers) {
  options_.model.norm = Norm::batch;
  train(options_, {.run = run("a")});
  options_.start.model = run("a") + "/model";
  options_.start.freeze = {ModelPart::encoder};
  options_.train.ema_decay = 0;
  train(options_, {.run = run("b")});
  const auto before = SafetensorsFile::open(run("a") + "/model/model.safetensors");
  const auto after = SafetensorsFile::open(last_checkpoint("b") + "/model.safetensors");
  ASSERT_EQ(before.names(), after.names());
  for (const auto& name : before.names())
    EXPECT_EQ(to_floats(before.at(name)) == to_floats(after.at(name)), name.starts_with("encoder.")) << name;
}

TEST_F(TrainerTest, BatchNormNeedsMoreThanATokenInAPart) {
  options_.model.norm = Norm::batch;
  options_.data.micro_batch_tokens = 1;
  const std::string message = error_message([&] { train(options_, {.run = run("a")}); });
  for (const char* key : {"data.micro_batch_tokens", "model.norm: 'batch'"})
    EXPECT_NE(message.find(key), std::string::npos) << message;
}

}  // namespace
}  // namespace sixfold
