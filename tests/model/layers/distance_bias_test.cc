// Positions as numbers added to the scores of self-attention.
#include "model/layers/distance_bias.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "model/attention_weights.h"
#include "model/small_model.h"

namespace sixfold {
namespace {

Architecture architecture(Positions positions, int heads) {
  Architecture a;
  a.positions = positions;
  a.heads = heads;
  return a;
}

/// The slopes that the paper's program computes for 8 and for 12 heads.
TEST(Alibi, SlopesAreThoseOfThePaper) {
  for (int head = 0; head < 8; ++head) EXPECT_EQ(alibi_slope(head, 8), std::exp2(-head - 1));
  const double twelve[] = {1.0 / 2,
                           1.0 / 4,
                           1.0 / 8,
                           1.0 / 16,
                           1.0 / 32,
                           1.0 / 64,
                           1.0 / 128,
                           1.0 / 256,
                           0.7071067811865476,
                           0.3535533905932738,
                           0.1767766952966369,
                           0.08838834764831845};
  for (int head = 0; head < 12; ++head) EXPECT_NEAR(alibi_slope(head, 12), twelve[head], 1e-15);
  EXPECT_EQ(alibi_slope(0, 1), std::exp2(-8));
}

TEST(Alibi, TableGrowsAndKeepsItsNumbers) {
  const std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  ParameterBuilder make(backend, DType::f64, 1);
  const DistanceBias bias(make, architecture(Positions::alibi, 3), AttentionKind::encoder);
  EXPECT_TRUE(make.take_parameters().empty());
  Context context(backend, std::make_shared<Arena>(backend));
  const Tensor small = bias.for_length(2, context), n = bias.for_length((small.rows() + 1) / 2, context),
               large = bias.for_length(small.rows(), context);
  EXPECT_TRUE(n.same_as(small));
  for (const Tensor& table : {small, large}) {
    const auto values = table.to_doubles(*backend);
    const int64_t middle = table.rows() / 2;
    for (int64_t row = 0; row < table.rows(); ++row)
      for (int head = 0; head < 3; ++head)
        EXPECT_EQ(values[static_cast<size_t>(3 * row + head)],
                  -alibi_slope(head, 3) * static_cast<double>(std::abs(row - middle)));
  }
}

/// What `_relative_position_bucket` of Hugging Face's T5 returns for 32 buckets and distances up to 128.
TEST(T5, BucketsAreThoseOfThePaper) {
  const std::map<int, int> both{{-1000, 15}, {-128, 15}, {-127, 15}, {-64, 14}, {-32, 12}, {-16, 10}, {-15, 9},
                                {-8, 8},     {-7, 7},    {-1, 1},    {0, 0},    {1, 17},   {7, 23},   {8, 24},
                                {11, 24},    {12, 25},   {16, 26},   {23, 27},  {31, 27},  {32, 28},  {64, 30},
                                {91, 31},    {127, 31},  {128, 31},  {1000, 31}};
  for (const auto& [distance, bucket] : both) EXPECT_EQ(t5_bucket(distance, true, 32, 128), bucket) << distance;
  const std::map<int, int> earlier{{-1000, 31}, {-128, 31}, {-113, 31}, {-64, 26}, {-40, 23},
                                   {-32, 21},   {-31, 21},  {-21, 18},  {-17, 16}, {-16, 16},
                                   {-15, 15},   {-1, 1},    {0, 0},     {1, 0},    {50, 0}};
  for (const auto& [distance, bucket] : earlier)
    EXPECT_EQ(t5_bucket(distance, false, 32, 128), bucket) << distance;
  EXPECT_EQ(t5_bucket(-3, true, 8, 20), 2);
  EXPECT_EQ(t5_bucket(7, true, 8, 20), 7);
}

TEST(T5, EachDistanceHasTheNumbersOfItsBucket) {
  const std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  for (const AttentionKind stack : {AttentionKind::encoder, AttentionKind::decoder}) {
    ParameterBuilder make(backend, DType::f64, 1);
    const DistanceBias bias(make, architecture(Positions::t5, 3), stack);
    const Parameter table = make.take_parameters().at(0);
    EXPECT_EQ(table.name, "relative_attention_bias.weight");
    EXPECT_EQ(table.shape, (std::vector<int64_t>{32, 3}));
    EXPECT_FALSE(table.can_be_int8());
    Context context(backend, std::make_shared<Arena>(backend));
    const auto numbers = table.tensor.to_doubles(*backend),
               rows = bias.for_length(40, context).to_doubles(*backend);
    ASSERT_EQ(rows.size(), 79u * 3);
    for (int distance = -39; distance < 40; ++distance)
      for (int head = 0; head < 3; ++head)
        EXPECT_EQ(rows[static_cast<size_t>(3 * (39 + distance) + head)],
                  numbers[static_cast<size_t>(
                      3 * t5_bucket(distance, stack == AttentionKind::encoder, 32, 128) + head)]);
  }
}

/// In a sentence of one token again and again, a query and a key have the same product everywhere. The weight
/// of a key, relative to that of the query's own place, is then what its distance alone makes of it.
TEST(DistanceBias, ATokenSeesHowFarOthersAreAndNotWhere) {
  for (const Positions positions : {Positions::alibi, Positions::t5, Positions::none}) {
    ModelConfig config = small_config();
    config.positions = positions;
    const Transformer model(config, make_backend({.device = "reference"}), DType::f64, 1);
    constexpr int n = 30;
    Batch batch;
    batch.source.add(std::vector<int32_t>(n, 7));
    batch.target.add(std::vector<int32_t>(n, 7));
    for (const AttentionKind kind : {AttentionKind::encoder, AttentionKind::decoder}) {
      Context context(model.backend(), std::make_shared<Arena>(model.backend()));
      const std::vector<float> weights = attention_weights(model, batch, kind, 0, context)[0];
      const auto relative = [&](int head, int query, int key) {
        const auto row = weights.begin() + (head * n + query) * n;
        return std::log(row[key] / row[query]);
      };
      for (int head = 0; head < config.heads; ++head)
        for (int query = 0; query < n; ++query)
          for (int key = 0; key < (kind == AttentionKind::decoder ? query + 1 : n); ++key) {
            const int distance = key - query;
            const double first = distance < 0 ? relative(head, -distance, 0) : relative(head, 0, distance);
            if (kind == AttentionKind::encoder || distance <= 0) {
              EXPECT_NEAR(relative(head, query, key), first, 1e-4);
            }
            if (positions == Positions::alibi) {
              EXPECT_NEAR(relative(head, query, key), -alibi_slope(head, config.heads) * std::abs(distance),
                          1e-4);
            }
            if (positions == Positions::none) {
              EXPECT_NEAR(relative(head, query, key), 0, 1e-4);
            }
          }
    }
  }
}

}  // namespace
}  // namespace sixfold
