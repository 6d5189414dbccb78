#include "runtime/model_runtime.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

constexpr int64_t megabyte = 1'000'000;

TEST(BatchTokens, GrowWithTheWeights) {
  EXPECT_EQ(fitting_batch_tokens(0), 512);
  EXPECT_EQ(fitting_batch_tokens(16 * megabyte), 976);
  EXPECT_EQ(fitting_batch_tokens(1000 * megabyte), 2048);
}

/// The rows are those of a model of the size of T5-small, in int8 and fp32, and of one of 600 million weights.
TEST(BatchTokens, OfASearchKeepLittleBesideTheWeights) {
  const std::pair<int64_t, int64_t> small{24'576, 24'576}, large{98'304, 98'304};
  EXPECT_EQ(fitting_batch_tokens(60 * megabyte, small, 1), 915);
  EXPECT_EQ(fitting_batch_tokens(60 * megabyte, small, 4), 1464);
  EXPECT_EQ(fitting_batch_tokens(60 * megabyte, small, 0), 915) << "0 hypotheses are refused later";
  EXPECT_EQ(fitting_batch_tokens(240 * megabyte, small, 1), 2034);
  EXPECT_EQ(fitting_batch_tokens(615 * megabyte, large, 1), 512);
  EXPECT_EQ(fitting_batch_tokens(615 * megabyte, large, 4), 813);
}

TEST(BatchTokens, OfASearchAreAtLeastThoseOfASmallModel) {
  EXPECT_EQ(fitting_batch_tokens(7 * megabyte, {1 << 20, 1 << 20}, 1), 512);
  EXPECT_EQ(fitting_batch_tokens(100 * megabyte, {0, 0}, 4), 2048) << "a recurrent decoder keeps no rows";
}

}  // namespace
}  // namespace sixfold
