#include "train/run_length.h"

#include <gtest/gtest.h>

#include "data/pair_dataset.h"

namespace sixfold {
namespace {

/// 100 pairs of 10 tokens in batches of 5 pairs: 20 batches an epoch.
class RunLengthTest : public testing::Test {
 protected:
  static PairDataset make_data() {
    TokenCorpus corpus;
    for (int i = 0; i < 100; ++i) {
      corpus.source.add(std::vector<int32_t>(5, 3));
      corpus.target.add(std::vector<int32_t>(4, 3));
    }
    return {corpus, {}, {}, ""};
  }

  const PairDataset data_ = make_data();
  TrainOptions options_;
  TrainingState state_;
  const Batcher batcher_{data_, {.batch_tokens = 50}};
  const RunLength length_{options_, data_, batcher_};
};

TEST_F(RunLengthTest, EpochsBecomeUpdatesFromWhereTheRunStands) {
  EXPECT_EQ(length_.planned(state_), 0);
  options_.train.epochs = 3;
  EXPECT_EQ(length_.planned(state_), 60);
  options_.train.accumulate = 2;
  EXPECT_EQ(length_.planned(state_), 30);
  state_.update = 70;  // with batches that were smaller then
  state_.position = {2, 50};
  EXPECT_EQ(length_.planned(state_), 75);
  options_.train.updates = 72;
  EXPECT_EQ(length_.planned(state_), 72);
  options_.train.updates = 0;
  state_.position = {4, 0};
  EXPECT_EQ(length_.planned(state_), 70);
}

TEST_F(RunLengthTest, MinutesBecomeUpdatesOnce) {
  options_.train.minutes = 10;
  state_.update = 9;
  state_.seconds = 60;
  EXPECT_EQ(length_.measured(state_), std::nullopt) << "too few updates";
  state_.update = 50;
  state_.seconds = 17;
  EXPECT_EQ(length_.measured(state_), std::nullopt) << "too short a time";
  state_.seconds = 25;
  EXPECT_EQ(length_.measured(state_), 1140);  // 2 a second in 95 % of 600 seconds
  state_.seconds = 2500;
  EXPECT_EQ(length_.measured(state_), 50) << "the time is over";
  state_.rate_measured = true;
  EXPECT_EQ(length_.measured(state_), std::nullopt);
}

TEST_F(RunLengthTest, EpochsAreTakenByPosition) {
  EXPECT_FALSE(length_.passes(0, {0, 0}, {9, 0}));
  EXPECT_TRUE(length_.passes(1, {0, 95}, {1, 0}));
  EXPECT_FALSE(length_.passes(1, {1, 0}, {1, 5}));
  EXPECT_TRUE(length_.passes(0.5, {1, 45}, {1, 50}));
  EXPECT_FALSE(length_.passes(2, {0, 95}, {1, 0}));
  EXPECT_TRUE(length_.passes(2, {1, 95}, {2, 0}));
}

}  // namespace
}  // namespace sixfold
