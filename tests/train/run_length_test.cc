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

/// A far end is estimated until it is near, so that a run with a million epochs begins at once.
TEST_F(RunLengthTest, AFarEndIsEstimated) {
  const RunLength length(options_, data_, batcher_, 150);
  options_.train.epochs = 1;
  EXPECT_TRUE(length.sees_end(state_.position));
  EXPECT_EQ(length.planned(state_), 20);
  options_.train.epochs = 1e6;
  EXPECT_FALSE(length.sees_end(state_.position));
  EXPECT_EQ(length.planned(state_), 20'000'000);
  state_.position = {999'998, 50};
  EXPECT_TRUE(length.sees_end(state_.position));
  EXPECT_EQ(length.planned(state_), 30);
  options_.train.epochs = 1e9;
  state_.position = {};
  EXPECT_EQ(length.planned(state_), 20'000'000'000);
}

TEST_F(RunLengthTest, ValidationsAreSoManyUpdatesApart) {
  options_.validation = {.every_updates = 0, .every_epochs = 0};
  EXPECT_EQ(length_.validation_every(), 0);
  options_.validation.every_epochs = 0.5;
  EXPECT_DOUBLE_EQ(length_.validation_every(), 10);
  options_.train.accumulate = 2;
  options_.validation.every_updates = 5;
  EXPECT_DOUBLE_EQ(length_.validation_every(), 2.5);
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
