#include "backend/dropout.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/matrix.h"

namespace sixfold {
namespace {

constexpr int features = 20;

struct Rows {
  std::vector<int32_t> sentence{0, 0, 7, 7, 7}, position{0, 1, 0, 1, 2};

  Dropout dropout() const {
    return {.sentence = operand(sentence),
            .position = operand(position),
            .seed = 5,
            .update = 3,
            .module = 2,
            .threshold = 6554};
  }
};

/// Which elements of the rows survive.
std::vector<bool> mask(const Dropout& dropout, int64_t rows) {
  std::vector<bool> kept;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < features; ++c) kept.push_back(keeps(dropout, r, c));
  return kept;
}

TEST(Dropout, TakesTheBitsThatItSays) {
  // Row and module of the published answer for counter {243f6a88, 85a308d3, 13198a2e, 03707344}: block,
  // position, sentence, module. Its words are d16cfe09 94fdcceb 5001e420 24126ea1.
  const auto position = static_cast<int32_t>(0x85a308d3), sentence = static_cast<int32_t>(0x13198a2e);
  Dropout dropout{.sentence = {&sentence, 1},
                  .position = {&position, 1},
                  .seed = 0xa4093822,
                  .update = 0x299f31d0,
                  .module = 0x03707344};
  const uint32_t halves[8] = {0xfe09, 0xd16c, 0xcceb, 0x94fd, 0xe420, 0x5001, 0x6ea1, 0x2412};
  for (int i = 0; i < 8; ++i) {
    const int64_t feature = int64_t{0x243f6a88} * 8 + i;
    dropout.threshold = halves[i];
    EXPECT_TRUE(keeps(dropout, 0, feature)) << i;
    dropout.threshold = halves[i] + 1;
    EXPECT_FALSE(keeps(dropout, 0, feature)) << i;
  }
}

TEST(Dropout, KeepsItsShareAndTheMean) {
  const std::vector<int32_t> zeros(1000, 0);
  std::vector<int32_t> positions(1000);
  for (int i = 0; i < 1000; ++i) positions[i] = i;
  for (double probability : {0.1, 0.5}) {
    const Dropout dropout{.sentence = operand(zeros),
                          .position = operand(positions),
                          .threshold = static_cast<uint32_t>(probability * 65536)};
    double kept = 0, sum = 0;
    for (int64_t r = 0; r < 1000; ++r)
      for (int64_t c = 0; c < 100; ++c) {
        kept += keeps(dropout, r, c);
        sum += apply_dropout(dropout, r, c, 1.0);
      }
    EXPECT_NEAR(kept / 1e5, 1 - probability, 0.005);
    EXPECT_NEAR(sum / 1e5, 1, 0.01);
    EXPECT_NEAR(dropout.keep_scale(), 1 / (1 - probability), 1e-4);
  }
}

TEST(Dropout, DependsOnEveryPartOfThePlace) {
  const Rows rows;
  const auto kept = mask(rows.dropout(), 5);
  auto other = rows.dropout();
  other.seed = 6;
  EXPECT_NE(mask(other, 5), kept);
  other = rows.dropout();
  other.update = 4;
  EXPECT_NE(mask(other, 5), kept);
  other = rows.dropout();
  other.module = 3;
  EXPECT_NE(mask(other, 5), kept);
}

TEST(Dropout, DoesNotDependOnPacking) {
  const Rows rows;
  const std::vector<int32_t> sentence(3, 7), position{0, 1, 2};
  Dropout alone = rows.dropout();
  alone.sentence = operand(sentence);
  alone.position = operand(position);
  const auto together = mask(rows.dropout(), 5);
  EXPECT_EQ(mask(alone, 3), std::vector<bool>(together.begin() + 2 * features, together.end()));
}

TEST(Dropout, WithoutThresholdNeedsNoPlaces) {
  EXPECT_EQ(apply_dropout(Dropout{}, 0, 0, 3.0f), 3.0f);
  EXPECT_FALSE(Dropout{});
}

}  // namespace
}  // namespace sixfold
