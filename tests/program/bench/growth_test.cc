#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "error_message.h"
#include "program/bench/layer_times.h"

namespace sixfold {
namespace {

std::vector<double> times(const std::vector<double>& sizes, double exponent) {
  std::vector<double> result;
  for (const double size : sizes) result.push_back(3e-9 * std::pow(size, exponent));
  return result;
}

TEST(Growth, FindsThePower) {
  const std::vector<double> sizes{64, 100, 512, 4096};
  for (const double exponent : {0.0, 1.0, 1.5, 2.0, -1.0})
    EXPECT_NEAR(growth_exponent(sizes, times(sizes, exponent)), exponent, 1e-12);
}

TEST(Growth, LiesBetweenTheTwoTermsOfASum) {
  const std::vector<double> sizes{128, 256, 512, 1024};
  std::vector<double> sums = times(sizes, 2);
  for (size_t i = 0; i < sizes.size(); ++i) sums[i] += 300 * times(sizes, 1)[i];
  EXPECT_GT(growth_exponent(sizes, sums), 1.3);
  EXPECT_LT(growth_exponent(sizes, sums), 1.9);
}

TEST(Growth, NeedsTwoSizesAndPositiveTimes) {
  const auto message = [](std::vector<double> sizes, std::vector<double> seconds) {
    return error_message([&] { growth_exponent(sizes, seconds); });
  };
  EXPECT_NE(message({1, 2}, {1}), "");
  EXPECT_NE(message({1}, {1}), "");
  EXPECT_NE(message({2, 2}, {1, 2}), "");
  EXPECT_NE(message({1, 2}, {0, 1}), "");
}

TEST(Growth, TheMedianIsInTheMiddle) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 9}), 3);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
}

}  // namespace
}  // namespace sixfold
