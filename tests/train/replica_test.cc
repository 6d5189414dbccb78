#include "train/replica.h"

#include <gtest/gtest.h>

#include <cmath>

#include "discrete_backend.h"
#include "model/small_model.h"
#include "train/task_without_data.h"

namespace sixfold {
namespace {

TrainOptions options() {
  TrainOptions options;
  options.train.seed = 3;
  options.train.label_smoothing = 0.1;
  options.train.clip_norm = 0.5;
  options.train.ema_decay = 0.9;
  return options;
}

const TaskWithoutData replica_task([](ModelConfig& config) {
  config.dropout = config.attention_dropout = config.activation_dropout = 0.2f;
});

std::vector<std::vector<float>> weights_of(const Replica& replica) {
  std::vector<std::vector<float>> weights;
  for (const Parameter& parameter : replica.model().parameters())
    weights.push_back(parameter.tensor.to_floats(*replica.backend()));
  return weights;
}

StepResult update(Replica& replica, int64_t step) {
  const StepResult result = replica.gradients(two_parts(1), {3, static_cast<uint32_t>(step)});
  replica.update(step, 0.01, result.gradient_norm);
  return result;
}

// A host that waits for a device more often than once leaves it idle.
TEST(Replica, WaitsForItsBackendOnceInAnUpdate) {
  const auto backend = std::make_shared<DiscreteBackend>();
  Replica replica(backend, replica_task, options());
  const int before = backend->downloads();
  update(replica, 1);
  EXPECT_EQ(backend->downloads(), before + 1);
  replica.optimizer().swap_average();
  EXPECT_EQ(backend->downloads(), before + 1);
}

TEST(Replica, TrainsInDiscreteMemoryAsInTheHosts) {
  Replica host(make_backend({.device = "reference"}), replica_task, options()),
      device(std::make_shared<DiscreteBackend>(), replica_task, options());
  for (int64_t step = 1; step <= 3; ++step) {
    const StepResult expected = update(host, step), actual = update(device, step);
    EXPECT_EQ(actual.loss_sum, expected.loss_sum);
    EXPECT_EQ(actual.gradient_norm, expected.gradient_norm);
    EXPECT_GT(actual.gradient_norm, 0);
  }
  EXPECT_EQ(weights_of(device), weights_of(host));
}

TEST(Replica, LossAndNormAreThoseOfTheWholeUpdate) {
  Replica replica(make_backend(), replica_task, options());
  const UpdateBatch batch = two_parts(1);
  const StepResult result = replica.gradients(batch, {3, 1});
  double loss = 0, squares = 0;
  for (const Batch& part : batch.shards[0]) {
    Tape tape;
    Context context(replica.backend(), replica.arena(), tape, {3, 1});
    loss += replica.model().loss(part, {.label_smoothing = 0.1}, context).item(*replica.backend());
  }
  replica.gradients(batch, {3, 1});
  for (const Parameter& parameter : replica.model().parameters())
    for (const double g : parameter.tensor.gradient().to_doubles(*replica.backend())) squares += g * g;
  EXPECT_EQ(result.loss_sum, loss);
  EXPECT_EQ(result.loss, loss / batch.loss_weight);
  EXPECT_NEAR(result.gradient_norm, std::sqrt(squares), 1e-12 * result.gradient_norm);
}

/// Two random pairs each. The third shard is empty, as in a batch of few samples.
UpdateBatch five_shards() {
  UpdateBatch batch;
  for (const size_t shard : {0, 1, 3, 4}) {
    Batch part = random_pairs({{4, 5}, {7, 3}}, small_config(), shard);
    part.labels = part.target.ids;
    batch.add(std::move(part), shard);
  }
  return batch;
}

std::vector<std::vector<float>> gradients_of(const Replica& replica) {
  std::vector<std::vector<float>> gradients;
  for (const Parameter& parameter : replica.model().parameters())
    gradients.push_back(parameter.tensor.gradient().to_floats(*replica.backend()));
  return gradients;
}

/// The sum is ((0) + (1)) + ((2) + ((3) + (4))), whose terms are computed here one by one.
TEST(Replica, AddsShardsByATree) {
  const UpdateBatch batch = five_shards();
  Replica replica(make_backend(), replica_task, options());
  const StepResult all = replica.gradients(batch, {3, 1});
  const auto actual = gradients_of(replica);
  std::vector<std::vector<std::vector<float>>> terms;
  std::vector<double> losses;
  for (const std::vector<Batch>& shard : batch.shards) {
    UpdateBatch alone{.shards = {shard}, .loss_weight = batch.loss_weight, .tokens = batch.tokens};
    losses.push_back(replica.gradients(alone, {3, 1}).loss_sum);
    terms.push_back(gradients_of(replica));
  }
  EXPECT_EQ(all.loss_sum, (losses[0] + losses[1]) + (losses[2] + (losses[3] + losses[4])));
  EXPECT_EQ(losses[2], 0);
  double squares = 0;
  for (size_t p = 0; p < actual.size(); ++p)
    for (size_t i = 0; i < actual[p].size(); ++i) {
      const auto term = [&](size_t shard) { return terms[shard][p][i]; };
      ASSERT_EQ(actual[p][i], (term(0) + term(1)) + (term(2) + (term(3) + term(4)))) << p << " " << i;
      squares += double{actual[p][i]} * actual[p][i];
    }
  EXPECT_NEAR(all.gradient_norm, std::sqrt(squares), 1e-6 * all.gradient_norm);
}

TEST(Replica, TradesWeightsForTheirAverageAndBack) {
  Replica replica(make_backend(), replica_task, options());
  update(replica, 1);
  const auto weights = weights_of(replica);
  replica.optimizer().swap_average();
  EXPECT_NE(weights_of(replica), weights);
  replica.optimizer().swap_average();
  EXPECT_EQ(weights_of(replica), weights);
}

}  // namespace
}  // namespace sixfold
