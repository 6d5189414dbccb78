#include "metrics/pcg64.h"

#include <gtest/gtest.h>

#include "metrics/metric_goldens.h"

namespace sixfold {
namespace {

TEST(Pcg64, DrawsWhatNumPyDraws) {
  for (const auto& item : metric_goldens()["drawn"]) {
    Pcg64 random(item[0].get<uint64_t>());
    for (const auto& expected : item[2])
      EXPECT_EQ(random.below(item[1].get<uint32_t>()), expected.get<uint32_t>()) << item;
  }
}

TEST(Pcg64, ThrowsTheCoinsOfNumPy) {
  for (const auto& item : metric_goldens()["coins"]) {
    Pcg64 random(item[0].get<uint64_t>());
    for (const auto& expected : item[1]) EXPECT_EQ(random.coin(), expected.get<bool>()) << item;
  }
}

}  // namespace
}  // namespace sixfold
