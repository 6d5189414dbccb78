#include "train/distributed/division.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "error_message.h"

namespace sixfold {
namespace {

/// The sum of the leaves [begin, end) as the tree adds them.
std::string tree(int begin, int end) {
  if (end - begin == 1) return std::to_string(begin);
  const int middle = (begin + end) / 2;
  return "(" + tree(begin, middle) + "+" + tree(middle, end) + ")";
}

TEST(ShardTree, AddsTheSameForAnyNumberOfProcesses) {
  for (int shards = 1; shards <= 20; ++shards)
    for (int processes = 1; processes <= shards; ++processes) {
      const ShardTree division(shards, processes);
      EXPECT_EQ(division.shards(), shards);
      std::vector<std::string> sums;
      int next = 0;
      for (int rank = 0; rank < processes; ++rank) {
        const ShardInterval& own = division.of_process(rank);
        EXPECT_EQ(own.begin, next);
        EXPECT_GT(own.end, own.begin);
        next = own.end;
        sums.push_back(tree(own.begin, own.end));
      }
      for (const auto& [left, right] : division.additions()) {
        auto& sum = sums[static_cast<size_t>(left)];
        sum = "(" + sum + "+" + sums[static_cast<size_t>(right)] + ")";
      }
      EXPECT_EQ(sums[0], tree(0, shards)) << shards << " shards, " << processes << " processes";
    }
}

TEST(ShardTree, IsEvenIfTheShardsAllowIt) {
  for (const int processes : {1, 2, 4, 8, 16})
    for (int rank = 0; rank < processes; ++rank) {
      const ShardTree division(16, processes);
      EXPECT_EQ(division.of_process(rank).end - division.of_process(rank).begin, 16 / processes);
    }
}

TEST(ShardTree, RefusesMoreProcessesThanShards) {
  EXPECT_NE(error_message([] { ShardTree(2, 3); }).find("train.shards is 2, so that at most 2 processes"),
            std::string::npos);
}

TEST(WeightDivision, GivesEachElementToOneProcess) {
  const std::vector<int64_t> sizes{70, 5, 16, 0, 33, 1000};
  for (int processes = 1; processes <= 9; ++processes) {
    const WeightDivision division(sizes, processes, /*block=*/16, /*bucket=*/200);
    std::map<std::pair<size_t, int64_t>, int> owners;
    std::vector<int64_t> loads(static_cast<size_t>(processes), 0);
    for (int process = 0; process < processes; ++process)
      for (const WeightPart& part : division.parts_of(process)) {
        EXPECT_EQ(part.begin % 16, 0);
        EXPECT_TRUE(part.begin + part.count == sizes[part.weight] || part.count % 16 == 0);
        loads[static_cast<size_t>(process)] += part.count;
        for (int64_t i = 0; i < part.count; ++i) ++owners[{part.weight, part.begin + i}];
      }
    EXPECT_EQ(owners.size(), 1124u);
    for (const auto& [element, count] : owners) EXPECT_EQ(count, 1);
    const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
    EXPECT_LE(*most - *least, 2 * 16 + 1) << processes;
  }
}

TEST(WeightDivision, WholeWeightsHaveOneOwnerEach) {
  const std::vector<int64_t> sizes{70, 5, 16, 0, 33, 1000, 900, 120};
  for (int processes = 1; processes <= 9; ++processes) {
    const WeightDivision division(sizes, processes, /*block=*/16, /*bucket=*/200, /*whole=*/true);
    std::vector<int64_t> owned(sizes.size(), 0), loads(static_cast<size_t>(processes), 0);
    for (int process = 0; process < processes; ++process)
      for (const WeightPart& part : division.parts_of(process)) {
        EXPECT_EQ(part.begin, 0);
        owned[part.weight] += part.count;
        loads[static_cast<size_t>(process)] += part.count;
      }
    EXPECT_EQ(owned, sizes);
    EXPECT_LE(std::ranges::max(loads), std::max<int64_t>(1000, 2144 / processes + 120)) << processes;
    for (const auto& bucket : division.buckets()) {
      int64_t elements = 0;
      for (int process = 0; process < processes; ++process) elements += bucket.elements(process);
      EXPECT_LE(elements, 200 + 16);
    }
  }
}

/// Gradients are complete from the last weight to the first.
TEST(WeightDivision, BucketsGoFromTheLastWeightToTheFirst) {
  const std::vector<int64_t> sizes{100, 100, 100};
  const WeightDivision division(sizes, 2, 10, 150);
  ASSERT_EQ(division.buckets().size(), 2u);
  EXPECT_EQ(division.buckets()[0].last_weight, 2u);
  EXPECT_EQ(division.buckets()[0].first_weight, 1u);
  EXPECT_EQ(division.buckets()[1].last_weight, 1u);
  EXPECT_EQ(division.buckets()[1].first_weight, 0u);
}

}  // namespace
}  // namespace sixfold
