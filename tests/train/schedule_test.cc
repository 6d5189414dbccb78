#include "train/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace sixfold {
namespace {

Schedule schedule(ScheduleKind kind, int64_t last = 1000) {
  return Schedule({.kind = kind, .warmup = 100, .factor = 2, .learning_rate = 0.01}, 64, last);
}

TEST(Schedule, PaperFormula) {
  const Schedule noam = schedule(ScheduleKind::noam);
  for (const double step : {1.0, 50.0, 100.0, 101.0, 5000.0})
    EXPECT_NEAR(noam.rate(static_cast<int64_t>(step)),
                2 * std::pow(64, -0.5) * std::min(std::pow(step, -0.5), step * std::pow(100, -1.5)), 1e-12);
}

TEST(Schedule, AllRiseToThePeak) {
  for (const auto kind :
       {ScheduleKind::inverse_sqrt, ScheduleKind::linear, ScheduleKind::cosine, ScheduleKind::constant}) {
    EXPECT_DOUBLE_EQ(schedule(kind).rate(50), 0.005);
    EXPECT_DOUBLE_EQ(schedule(kind).rate(100), 0.01);
  }
}

TEST(Schedule, EachFallsInItsWay) {
  EXPECT_DOUBLE_EQ(schedule(ScheduleKind::inverse_sqrt).rate(400), 0.005);
  EXPECT_DOUBLE_EQ(schedule(ScheduleKind::linear).rate(550), 0.005);
  EXPECT_DOUBLE_EQ(schedule(ScheduleKind::cosine).rate(550), 0.005);
  EXPECT_NEAR(schedule(ScheduleKind::cosine).rate(325), 0.01 * (1 + std::cos(std::acos(-1.0) / 4)) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(schedule(ScheduleKind::constant).rate(400), 0.01);
  EXPECT_NEAR(schedule(ScheduleKind::linear).rate(1000), 0, 1e-12);
  EXPECT_NEAR(schedule(ScheduleKind::cosine).rate(1000), 0, 1e-12);
}

/// Wherever the plan changes, in the warm-up or after it, the rate of the next update is near that of the last.
TEST(Schedule, ChangesOfThePlanMakeNoLeap) {
  TrainingState state;
  state.plan = {{3, 400}, {20, 1000}, {60, 300}, {150, 900}, {500, 620}, {610, 640}};
  for (const auto kind : {ScheduleKind::inverse_sqrt, ScheduleKind::linear, ScheduleKind::cosine,
                          ScheduleKind::constant, ScheduleKind::polynomial, ScheduleKind::plateau}) {
    double before = 0, highest = 0;
    for (int64_t step = 1; step <= 640; ++step) {
      state.update = step - 1;
      const double rate = Schedule({.kind = kind, .learning_rate = 0.01}, 64, state).rate(step);
      EXPECT_LT(std::abs(rate - before), 0.001) << step;
      highest = std::max(highest, rate);
      before = rate;
    }
    EXPECT_NEAR(highest, 0.01, 0.0002);
    if (kind == ScheduleKind::linear || kind == ScheduleKind::cosine) {
      EXPECT_NEAR(before, 0, 1e-9);
    }
  }
}

TEST(Schedule, APlanFromTheBeginningIsTheKnownLength) {
  TrainingState state;
  state.plan = {{0, 700}};
  for (const int64_t step : {1, 69, 70, 71, 400, 700})
    EXPECT_EQ(Schedule({}, 64, state).rate(step), Schedule({}, 64, 700).rate(step));
}

/// What is left to us fits the length of the run, and the size of the model.
TEST(Schedule, DefaultsFitTheRun) {
  const Schedule run({}, 256, 1000);
  const double peak = std::pow(256.0 * 4000, -0.5);
  EXPECT_NEAR(run.rate(50), peak / 2, 1e-12);  // within the first tenth
  EXPECT_NEAR(run.rate(100), peak, 1e-12);
  EXPECT_NEAR(run.rate(1000), 0, 1e-12);
  EXPECT_NEAR(Schedule({}, 256, 1'000'000).rate(2000), peak / 2, 1e-12);  // 4000 updates at most
  EXPECT_NEAR(Schedule({}, 256, 0).rate(2000), peak / 2, 1e-12);          // while nobody knows
  const Schedule paper({.kind = ScheduleKind::noam}, 512, 1000);
  EXPECT_NEAR(paper.rate(4000), std::pow(512.0 * 4000, -0.5), 1e-12);
}

/// The rates of PyTorch, and of transformers, whose schedules and relative steps of Adafactor are fairseq's
/// (tests/goldens/make_optimizer_goldens.py).
TEST(Schedule, RatesAreThoseOfOtherPrograms) {
  const auto cases = nlohmann::json::parse(std::ifstream(SIXFOLD_TEST_GOLDENS "/schedules.json"));
  int compared = 0;
  for (const auto& one : cases) {
    SCOPED_TRACE(one.at("options").dump());
    ScheduleOptions options;
    read_options(parse_json_options(one.at("options").dump(), "schedules.json"), options);
    if (one.contains("rates")) {
      const Schedule schedule(options, 64, one.at("last").get<int64_t>());
      for (const auto& [update, rate] : one.at("rates").items()) {
        EXPECT_NEAR(schedule.rate(std::stoll(update)), rate, 1e-12 * options.learning_rate) << update;
        ++compared;
      }
      continue;
    }
    TrainingState state;
    double best = INFINITY;
    for (size_t i = 0; i < one.at("losses").size(); ++i) {
      state.update = 10 * static_cast<int64_t>(i + 1);
      const double loss = one["losses"][i], before = Schedule(options, 64, state).rate(state.update);
      const bool lowered = Schedule(options, 64, state).record_validation(loss < best, state);
      best = std::min(best, loss);
      const double rate = Schedule(options, 64, state).rate(state.update + 1);
      EXPECT_NEAR(rate, one["rates_after"][i], 1e-12 * options.learning_rate) << i;
      EXPECT_TRUE(lowered || rate == before);
      ++compared;
    }
  }
  EXPECT_GT(compared, 700);
}

TEST(Schedule, ValidationsDuringTheWarmupAreNoStalls) {
  const ScheduleOptions options{
      .kind = ScheduleKind::plateau, .warmup = 20, .learning_rate = 0.01, .plateau_patience = 1};
  TrainingState state;
  for (state.update = 10; state.update <= 20; state.update += 10)
    EXPECT_EQ(Schedule(options, 64, state).record_validation(false, state), state.update == 20);
  EXPECT_DOUBLE_EQ(Schedule(options, 64, state).rate(21), 0.001);
}

/// The floor is the rate from which a run goes on, also with a lower floor.
TEST(Schedule, APlateauGoesNoLowerThanItsFloor) {
  ScheduleOptions options{.kind = ScheduleKind::plateau,
                          .warmup = 1,
                          .learning_rate = 0.01,
                          .min_rate = 0.004,
                          .plateau_patience = 1};
  TrainingState state{.update = 10};
  EXPECT_TRUE(Schedule(options, 64, state).record_validation(false, state));
  EXPECT_DOUBLE_EQ(Schedule(options, 64, state).rate(11), 0.004);
  EXPECT_FALSE(Schedule(options, 64, state).record_validation(false, state));
  options.min_rate = 0.001;
  EXPECT_DOUBLE_EQ(Schedule(options, 64, state).rate(11), 0.004);
}

/// What is past of the decay when the plan changes stays past; before the decay nothing is.
TEST(Schedule, TheDecayAtTheEndFollowsThePlan) {
  const ScheduleOptions options{.kind = ScheduleKind::wsd, .warmup = 10, .learning_rate = 0.01, .decay = 100};
  const auto rate = [&](std::vector<PlannedEnd> plan, int64_t step) {
    TrainingState state{.update = step - 1};
    state.plan = std::move(plan);
    return Schedule(options, 64, state).rate(step);
  };
  EXPECT_DOUBLE_EQ(rate({{0, 1000}}, 900), 0.01);
  EXPECT_DOUBLE_EQ(rate({{0, 1000}}, 950), 0.005);
  EXPECT_DOUBLE_EQ(rate({{0, 1000}, {500, 700}}, 600), 0.01);
  EXPECT_DOUBLE_EQ(rate({{0, 1000}, {500, 700}}, 650), 0.005);
  EXPECT_DOUBLE_EQ(rate({{0, 1000}, {950, 1150}}, 1050), 0.0025);
  EXPECT_DOUBLE_EQ(rate({{500, 700}}, 600), 0.01);  // while the end was unknown
  EXPECT_DOUBLE_EQ(rate({{0, 60}}, 35), 0.005);     // the warm-up leaves less than the decay takes
  EXPECT_DOUBLE_EQ(
      Schedule({.kind = ScheduleKind::wsd, .warmup = 10, .learning_rate = 0.01}, 64, 1000).rate(950),
      0.005);  // a tenth of the run
}

TEST(Schedule, StaysAtThePeakWhileTheEndIsUnknown) {
  EXPECT_DOUBLE_EQ(schedule(ScheduleKind::linear, 0).rate(500), 0.01);
  EXPECT_DOUBLE_EQ(schedule(ScheduleKind::cosine, 0).rate(500), 0.01);
}

}  // namespace
}  // namespace sixfold
