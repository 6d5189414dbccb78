#include "train/calendar.h"

#include <gtest/gtest.h>

#include "train/copying.h"

namespace sixfold {
namespace {

/// 100 samples make an epoch.
class CalendarTest : public testing::Test {
 protected:
  CalendarTest() {
    options_.log.every_updates = 4;
    options_.validation.every_updates = 5;
    options_.checkpoint.every_updates = 6;
  }

  const Digits data_{100};
  TrainOptions options_;
  TrainingState state_;
  const Batcher batcher_{data_, {.batch_tokens = 50}};
  const RunLength length_{options_, data_, batcher_};
  Calendar calendar_{options_, length_, state_};
};

TEST_F(CalendarTest, CountsUpdates) {
  for (state_.update = 1; state_.update <= 60; ++state_.update) {
    EXPECT_EQ(calendar_.should_log(state_), state_.update % 4 == 0 || state_.update <= 2);
    EXPECT_EQ(calendar_.should_validate(state_, state_.position), state_.update % 5 == 0);
    EXPECT_EQ(calendar_.should_save(state_), state_.update % 6 == 0);
    EXPECT_FALSE(calendar_.finished(state_));
  }
}

/// A run shows at once what it does.
TEST_F(CalendarTest, TheFirstLinesComeEarly) {
  options_.log.every_updates = 100;
  std::vector<int64_t> lines;
  for (state_.update = 1; state_.update <= 200; ++state_.update)
    if (calendar_.should_log(state_)) lines.push_back(state_.update);
  EXPECT_EQ(lines, (std::vector<int64_t>{1, 2, 5, 10, 20, 50, 100, 200}));
}

/// At its end a run has a line and a validation. The last checkpoint is the trainer's to make.
TEST_F(CalendarTest, TheLastUpdateAndPatienceEndARun) {
  state_.update = 7;
  state_.last_update = 8;
  EXPECT_FALSE(calendar_.finished(state_));
  state_.update = 11;  // as where a run by minutes came to its end while that was measured
  EXPECT_TRUE(calendar_.finished(state_));
  EXPECT_TRUE(calendar_.should_log(state_));
  EXPECT_TRUE(calendar_.should_validate(state_, state_.position));
  state_.last_update = 0;
  options_.validation.patience = 3;
  state_.without_better = 2;
  EXPECT_FALSE(calendar_.finished(state_));
  EXPECT_FALSE(calendar_.is_out_of_patience(state_));
  state_.without_better = 3;
  EXPECT_TRUE(calendar_.is_out_of_patience(state_));
  EXPECT_TRUE(calendar_.finished(state_));
}

TEST_F(CalendarTest, EpochsAndMinutesPass) {
  options_.validation = {.every_updates = 0, .every_epochs = 0.5};
  options_.checkpoint = {.every_updates = 0, .every_minutes = 2};
  state_.update = 1;
  state_.position = {0, 50};
  EXPECT_TRUE(calendar_.should_validate(state_, {0, 45}));
  EXPECT_FALSE(calendar_.should_validate(state_, {0, 50}));
  state_.seconds = 119;
  EXPECT_FALSE(calendar_.should_save(state_));
  state_.seconds = 120;
  EXPECT_TRUE(calendar_.should_save(state_));
  calendar_.record_checkpoint(state_);
  EXPECT_FALSE(calendar_.should_save(state_));
}

}  // namespace
}  // namespace sixfold
