#include "train/weight_exchange.h"

#include <gtest/gtest.h>

#include "train/distributed/threads.h"

namespace sixfold {
namespace {

/// Weights of many buckets and of odd sizes, whose gradients are small whole numbers, so that any order of
/// additions gives the same sums.
class WeightExchangeTest : public testing::TestWithParam<int> {
 protected:
  static constexpr int64_t sizes[] = {700'001, 3, 1'500'000, 70'000, 900'000, 16'384, 1'000'000, 5};

  static float gradient(int process, size_t weight, int64_t i) {
    return static_cast<float>((process + 1) * (static_cast<int64_t>(weight) + i % 97));
  }
};

TEST_P(WeightExchangeTest, OwnersGetTheSumsAndAllGetTheWeights) {
  const int count = GetParam();
  on_processes(count, [&](Processes& processes) {
    const std::shared_ptr<Backend> backend = make_backend();
    const auto memory = lasting_memory(backend);
    std::vector<Parameter> weights;
    std::vector<Tensor> gradients;
    for (const int64_t size : sizes) {
      weights.push_back({.name = "w", .tensor = Tensor(memory, 1, size, DType::f32)});
      gradients.emplace_back(memory, 1, size, DType::f32);
    }
    WeightExchange exchange(processes, ShardTree(count, count), backend, weights, WireType::fp32);
    for (int round = 0; round < 2; ++round) {
      exchange.begin(gradients);
      for (size_t w = std::size(sizes); w-- > 0;) {
        auto* values = gradients[w].view().as<float>();
        for (int64_t i = 0; i < sizes[w]; ++i) values[i] = gradient(processes.rank(), w, i);
        if (static_cast<int>(w % 3) != round) exchange.complete_from(w);
        if (processes.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
      exchange.finish();
      const int64_t times = count * (count + 1) / 2;
      for (const WeightPart& part : exchange.own_parts()) {
        const auto* sums = gradients[part.weight].view().as<float>();
        auto* weight = weights[part.weight].tensor.view().as<float>();
        int wrong = 0;
        for (int64_t i = part.begin; i < part.begin + part.count; ++i) {
          wrong += sums[i] != static_cast<float>(times) * gradient(0, part.weight, i);
          weight[i] = sums[i] + static_cast<float>(round);
        }
        EXPECT_EQ(wrong, 0) << "weight " << part.weight;
      }
      std::vector<Tensor> tensors;
      for (const Parameter& weight : weights) tensors.push_back(weight.tensor);
      const int64_t before = processes.bytes_sent();
      exchange.share(tensors);
      int64_t own = 0;
      for (const WeightPart& part : exchange.own_parts()) own += part.count;
      EXPECT_EQ(processes.bytes_sent() - before, 4 * own * (count - 1));
      for (size_t w = 0; w < std::size(sizes); ++w) {
        const auto* values = weights[w].tensor.view().as<float>();
        int wrong = 0;
        for (int64_t i = 0; i < sizes[w]; ++i)
          wrong += values[i] != static_cast<float>(times) * gradient(0, w, i) + static_cast<float>(round);
        EXPECT_EQ(wrong, 0) << "weight " << w;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Counts, WeightExchangeTest, testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace sixfold
