#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sixfold {
namespace {

// The known answers that the authors of Philox publish with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(Philox::bits({0, 0, 0, 0}, 0, 0),
            (Philox::Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox::bits({ones, ones, ones, ones}, ones, ones),
            (Philox::Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox::bits({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Philox::Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, CountsThroughPhilox) {
  RandomStream random(0, 0);
  for (uint32_t word : Philox::bits({0, 0, 0, 0}, 0, 0)) EXPECT_EQ(random.bits(), word);
  for (uint32_t word : Philox::bits({1, 0, 0, 0}, 0, 0)) EXPECT_EQ(random.bits(), word);
}

TEST(RandomStream, NamesKeepStreamsApart) {
  EXPECT_EQ(RandomStream(3, 4).bits(), RandomStream(3, 4).bits());
  EXPECT_NE(RandomStream(3, 4).bits(), RandomStream(4, 3).bits());
  EXPECT_NE(RandomStream(3, 0).bits(), RandomStream(3, uint64_t{1} << 32).bits());
}

TEST(RandomStream, BelowReachesEveryNumberAndNoOther) {
  RandomStream random(1, 0);
  int counts[5] = {};
  for (int i = 0; i < 5000; ++i) {
    const uint32_t number = random.below(5);
    ASSERT_LT(number, 5u);
    ++counts[number];
  }
  for (int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(RandomStream, NormalHasMeanZeroAndVarianceOne) {
  RandomStream random(1, 0);
  double sum = 0, squares = 0;
  for (int i = 0; i < 10000; ++i) {
    const double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.05);
  EXPECT_NEAR(squares / 10000, 1, 0.06);
}

}  // namespace
}  // namespace sixfold
