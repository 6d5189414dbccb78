#include "metrics/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sixfold {
namespace {

TEST(Calibration, CorrelationIsPearsons) {
  const std::vector<double> a{1, 2, 3, 4}, b{2, 1, 4, 3}, falling{8, 6, 4, 2};
  EXPECT_NEAR(*correlation(a, b), 0.6, 1e-12);  // 3 / sqrt(5 * 5)
  EXPECT_NEAR(*correlation(a, falling), -1, 1e-12);
  EXPECT_LE(std::abs(*correlation(a, falling)), 1);
}

TEST(Calibration, CorrelationMayNotBeDefined) {
  const std::vector<double> one{1}, a{0.1, 0.3, 0.2}, same{0.1, 0.1, 0.1};
  EXPECT_FALSE(correlation({}, {}));
  EXPECT_FALSE(correlation(one, one));
  EXPECT_FALSE(correlation(a, same));  // the mean of 0.1, 0.1 and 0.1 is not 0.1 in binary
  EXPECT_FALSE(correlation(same, a));
}

TEST(Calibration, BinsHaveATenthOfTheRangeEach) {
  const std::vector<double> predicted{0, 0.05, 0.25, 0.95, 1}, observed{0.1, 0.3, 0.25, 0.5, 0.7};
  const auto bins = reliability(predicted, observed);
  ASSERT_EQ(bins.size(), 3u);
  EXPECT_EQ(bins[0].count, 2u);
  EXPECT_NEAR(bins[0].predicted, 0.025, 1e-12);
  EXPECT_NEAR(bins[0].observed, 0.2, 1e-12);
  EXPECT_EQ(bins[1].count, 1u);
  EXPECT_EQ(bins[2].count, 2u);  // 1 is in the last bin
  EXPECT_NEAR(bins[2].predicted, 0.975, 1e-12);
  EXPECT_NEAR(calibration_error(bins), (2 * 0.175 + 0 + 2 * 0.375) / 5, 1e-12);
  EXPECT_EQ(calibration_error({}), 0);
}

}  // namespace
}  // namespace sixfold
