#include "data/epoch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "error_message.h"

namespace sixfold {
namespace {

std::vector<int64_t> values(const Permutation& permutation, int64_t size) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < size; ++i) all.push_back(permutation(i));
  return all;
}

TEST(Permutation, HoldsEachPlaceOnce) {
  for (const int64_t size : {1, 2, 3, 4, 5, 16, 17, 1000, 4096, 4097}) {
    auto all = values(Permutation(size, 5, 3), size);
    std::sort(all.begin(), all.end());
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(all[static_cast<size_t>(i)], i) << size;
  }
}

TEST(Permutation, IsAFunctionOfSeedAndStream) {
  const auto first = values(Permutation(1000, 1, 0), 1000);
  EXPECT_EQ(first, values(Permutation(1000, 1, 0), 1000));
  EXPECT_NE(first, values(Permutation(1000, 2, 0), 1000));
  EXPECT_NE(first, values(Permutation(1000, 1, 1), 1000));
  EXPECT_NE(first, values(Permutation(1000, uint64_t{1} << 40 | 1, 0), 1000));
}

/// A shuffle leaves no trace of the order before: places and values are not correlated, neighbours are far
/// apart.
TEST(Permutation, Shuffles) {
  constexpr int64_t size = 20'000;
  double correlation = 0, near = 0;
  for (uint64_t stream = 0; stream < 5; ++stream) {
    const auto all = values(Permutation(size, 9, stream), size);
    for (int64_t i = 0; i < size; ++i) {
      const auto value = static_cast<double>(all[static_cast<size_t>(i)]);
      correlation += (static_cast<double>(i) / size - 0.5) * (value / size - 0.5) * 12 / size;
      near += i > 0 && std::abs(value - static_cast<double>(all[static_cast<size_t>(i - 1)])) < size / 100.0;
    }
  }
  EXPECT_LT(std::abs(correlation / 5), 0.015);  // its deviation is 1 / sqrt(5 * size) = 0.003
  EXPECT_NEAR(near / (5.0 * size), 0.0199, 0.002);
}

std::map<int64_t, int> counts(const EpochOrder& order, int64_t first, int64_t last) {
  std::map<int64_t, int> counts;
  for (int64_t epoch = first; epoch < last; ++epoch)
    for (int64_t place = 0; place < order.places(); ++place) ++counts[order.sample(epoch, place)];
  return counts;
}

TEST(EpochOrder, WeightsSayHowOftenAPairComes) {
  const EpochOrder order({{100, 1}, {40, 2.5}, {60, 0.25}, {30, 0}}, true, 7);
  EXPECT_EQ(order.places(), 100 + 100 + 15);
  const auto epoch = counts(order, 3, 4);
  for (int64_t pair = 0; pair < 100; ++pair) EXPECT_EQ(epoch.at(pair), 1);
  for (int64_t pair = 100; pair < 140; ++pair) EXPECT_TRUE(epoch.at(pair) == 2 || epoch.at(pair) == 3) << pair;
  EXPECT_EQ(std::count_if(epoch.begin(), epoch.end(), [](auto& c) { return c.first >= 140; }), 15);
  const auto four = counts(order, 0, 4);  // after which each has come as often as any other of its corpus
  for (int64_t pair = 100; pair < 140; ++pair) EXPECT_EQ(four.at(pair), 10);
  for (int64_t pair = 140; pair < 200; ++pair) EXPECT_EQ(four.at(pair), 1) << pair;
  EXPECT_EQ(four.rbegin()->first, 199);
}

TEST(EpochOrder, WithoutShufflingItIsThatOfTheText) {
  const EpochOrder order({{3, 1}, {2, 2}}, false, 7);
  std::vector<int64_t> pairs;
  for (int64_t place = 0; place < order.places(); ++place) pairs.push_back(order.sample(5, place));
  EXPECT_EQ(pairs, (std::vector<int64_t>{0, 1, 2, 3, 4, 3, 4}));
}

TEST(EpochOrder, RefusesWhatLeavesNothing) {
  EXPECT_NE(error_message([] {
              EpochOrder({{5, 0}}, true, 1);
            }).find("no sample is left to train on"),
            std::string::npos);
  EXPECT_NE(error_message([] { EpochOrder({{5, -1}}, true, 1); }).find("at least 0"), std::string::npos);
  EXPECT_NE(error_message([] { EpochOrder({{5, NAN}}, true, 1); }).find("at least 0"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
