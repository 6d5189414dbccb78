#include "train/pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace sixfold {
namespace {

/// A run on a clock of its own.
struct Simulated {
  double minutes = 3;
  double validation = 2, checkpoint = 0.5;
  int64_t validation_every = 500, checkpoint_every = 1000;
  std::function<double(int64_t update, double seconds)> update_seconds;

  double ended = 0;
  int64_t updates = 0, plans = 0;

  void run() {
    Pace pace({.limit = 60 * minutes,
               .validation_every = static_cast<double>(validation_every),
               .checkpoint_every = static_cast<double>(checkpoint_every),
               .validation_size = 20});
    double seconds = 0;
    int64_t last = 0;
    do {
      const double taken = update_seconds(++updates, seconds);
      seconds += taken;
      pace.record_update(taken);
      if (const auto other = pace.replanned(updates, seconds, last)) {
        last = *other;
        ++plans;
      }
      const bool ends = last > 0 && updates >= last;
      if (ends || updates % validation_every == 0) {
        seconds += validation;
        pace.record_validation(validation);
      }
      if (ends || updates % checkpoint_every == 0) {
        seconds += checkpoint;
        pace.record_checkpoint(checkpoint);
      }
      if (ends) break;
    } while (seconds < 600 * minutes);
    ended = seconds + checkpoint;  // the model is written too
  }
  void expect_in_time() {
    run();
    EXPECT_NEAR(ended, 60 * minutes, std::max(0.03 * 60 * minutes, 10.0));
    EXPECT_LT(plans, 60);
  }
};

TEST(Pace, ASteadyRunIsPlannedOnceOrTwice) {
  Simulated run{.update_seconds = [](int64_t update, double) { return update == 1 ? 0.4 : 0.05; }};
  run.expect_in_time();
  EXPECT_LE(run.plans, 6);
}

/// Lengths of batches differ, and so do times.
TEST(Pace, NoiseChangesLittle) {
  for (const double minutes : {0.5, 3.0, 60.0}) {
    Simulated run{.minutes = minutes, .update_seconds = [](int64_t update, double) {
                    return 0.1 + 0.05 * static_cast<double>(update * 7 % 13) / 13;
                  }};
    run.expect_in_time();
  }
}

/// Another program takes one of two processors at any time, and goes again, or not.
TEST(Pace, AProcessorThatIsTakenAwayChangesThePlan) {
  for (const double minutes : {1.0, 3.0, 20.0, 120.0})
    for (const double from : {0.02, 0.3, 0.5, 0.8, 0.95})
      for (const double until : {0.6, 2.0})
        for (const double slower : {2.0, 4.0}) {
          SCOPED_TRACE(testing::Message() << minutes << " " << from << " " << until << " " << slower);
          Simulated run{.minutes = minutes, .update_seconds = [&](int64_t, double seconds) {
                          const double part = seconds / (60 * minutes);
                          return part >= from && part < until ? slower * 0.06 : 0.06;
                        }};
          run.expect_in_time();
        }
}

/// Validation that takes much longer than was guessed.
TEST(Pace, ValidationAndWritingAreIncluded) {
  Simulated run{.minutes = 5, .validation = 20, .checkpoint = 3, .validation_every = 400};
  run.update_seconds = [](int64_t, double) { return 0.05; };
  run.expect_in_time();
}

/// What a resumed run knows of itself outweighs its first updates, of which the first is slow.
TEST(Pace, AResumedRunKeepsItsPlan) {
  RunTimes times{.limit = 180, .update = 0.05, .validation = 1, .checkpoint = 0.1};
  const int64_t planned = last_update_within(times, 1500, 75);
  Pace pace(times);
  int64_t update = 1500;
  double seconds = 75;
  for (const double taken : {2.0, 0.01, 0.05, 0.05, 0.2}) {
    pace.record_update(taken);
    seconds += taken;
    EXPECT_EQ(pace.replanned(++update, seconds, planned), std::nullopt) << taken;
  }
}

TEST(Pace, WithoutALimitThereIsNoPlan) {
  Pace pace({});
  for (int i = 0; i < 9; ++i) pace.record_update(1);
  EXPECT_EQ(pace.replanned(9, 9, 0), std::nullopt);
}

TEST(Pace, AfterTheLimitTheRunEnds) {
  EXPECT_EQ(last_update_within({.limit = 60, .update = 1}, 50, 70), 50);
  EXPECT_EQ(last_update_within({.limit = 60, .update = 1}, 50, 50), 60);
  EXPECT_FALSE(misses_limit({.limit = 60, .update = 1}, 50, 50, 60));
  EXPECT_TRUE(misses_limit({.limit = 60, .update = 1}, 50, 50, 62));
}

}  // namespace
}  // namespace sixfold
