#include "search/beam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sixfold {
namespace {

constexpr int end = 2, a = 3, b = 4, c = 5;

GenerationConfig rules_of(int beam_size) {
  GenerationConfig rules;
  rules.beam_size = beam_size;
  rules.normalization = ScoreNormalization::none;
  rules.stopping_criterion = StoppingCriterion::beam_finished;
  return rules;
}

TEST(Beam, ScoresAreNormalized) {
  GenerationConfig rules;
  rules.length_penalty = 0.6f;
  EXPECT_NEAR(score_of(rules, -1, 1), -1, 1e-9);
  EXPECT_NEAR(score_of(rules, -3, 7), -3 / std::pow(2.0, 0.6), 1e-6);
  rules.normalization = ScoreNormalization::length;
  EXPECT_NEAR(score_of(rules, -1, 4), -1 / std::pow(4.0, 0.6), 1e-6);
  rules.word_penalty = 0.5;
  EXPECT_NEAR(score_of(rules, -1, 4), -3 / std::pow(4.0, 0.6), 1e-6);
  rules.normalization = ScoreNormalization::none;
  EXPECT_EQ(score_of(rules, -1, 9), -5.5);
}

/// log(min(coverage, 1)) of each token of the source; what is covered more often counts as once.
TEST(Beam, WhatIsNotCoveredCostsPartOfTheScore) {
  GenerationConfig rules;
  rules.normalization = ScoreNormalization::length, rules.length_penalty = 1;
  const std::vector<float> coverage{0.25f, 3, 1, 0.5f};
  EXPECT_EQ(score_of(rules, -6, 3, coverage), -2);
  rules.coverage_penalty = 0.5;
  EXPECT_NEAR(score_of(rules, -6, 3, coverage), -2 + 0.5 * (std::log(0.25) + std::log(0.5)), 1e-6);
  EXPECT_EQ(score_of(rules, -6, 3), -2);
  EXPECT_TRUE(std::isfinite(score_of(rules, -6, 3, std::vector<float>{0})));
}

TEST(Beam, CoverageDecidesAmongFinishedHypotheses) {
  for (const float penalty : {0.0f, 1.0f}) {
    GenerationConfig rules = rules_of(2);
    rules.coverage_penalty = penalty;
    Beam beam(rules, {.eos = end, .longest = 10, .n_best = 2});
    beam.add_coverage(0, std::vector{0.5f, 0.1f});
    beam.extend(std::vector{a, b, end}, std::vector{-0.5f, -1.0f, -2.0f});
    beam.add_coverage(0, std::vector{0.5f, 0.1f});  // after a: the second token is hardly covered
    beam.add_coverage(1, std::vector{0.1f, 0.9f});  // after b: the first one is not
    beam.extend(std::vector{end, b, c, end, a, b}, std::vector{-0.2f, -3.0f, -9.0f, -0.1f, -4.0f, -9.0f});
    ASSERT_TRUE(beam.done());
    const auto best = beam.take_best();
    ASSERT_EQ(best.size(), 2u);
    EXPECT_EQ(best[0].ids, std::vector{penalty > 0 ? b : a});
    EXPECT_NEAR(best[penalty > 0 ? 0 : 1].score, -1.1 + double{penalty} * std::log(0.6), 1e-6);
    EXPECT_NEAR(best[penalty > 0 ? 1 : 0].score, -0.7 + double{penalty} * std::log(0.2), 1e-6);
  }
}

/// Keeps what it is told.
struct KeptSteps final : SearchObserver {
  void see(std::span<const SearchCandidate> candidates) override {
    steps.emplace_back(candidates.begin(), candidates.end());
  }
  std::vector<std::vector<SearchCandidate>> steps;
};

TEST(Beam, TellsWhatBecomesOfEachCandidate) {
  GenerationConfig rules = rules_of(2);
  rules.stopping_criterion = StoppingCriterion::best_cannot_improve;
  KeptSteps kept;
  Beam beam(rules, {.eos = end, .longest = 10, .n_best = 1, .observer = &kept});
  beam.extend(std::vector{a, b, end}, std::vector{-0.5f, -1.0f, -2.0f});
  // Of a: b at -1.5 and the end at -0.7; of b: c at -1.1 and a at -1.2. Nothing can become better than -0.7.
  beam.extend(std::vector{end, b, c, c, a, b}, std::vector{-0.2f, -1.0f, -9.0f, -0.1f, -0.2f, -9.0f});
  EXPECT_TRUE(beam.done());
  ASSERT_EQ(kept.steps.size(), 2u);
  const auto expect = [](const SearchCandidate& one, int parent, int id, double sum, CandidateFate fate) {
    EXPECT_EQ(one.parent, parent);
    EXPECT_EQ(one.id, id);
    EXPECT_NEAR(one.log_probability, sum, 1e-6);
    EXPECT_NEAR(one.score, sum, 1e-6);  // without normalization
    EXPECT_EQ(one.fate, fate);
  };
  expect(kept.steps[0][0], 0, a, -0.5, CandidateFate::continues);
  expect(kept.steps[0][1], 0, b, -1.0, CandidateFate::continues);
  expect(kept.steps[0][2], 0, end, -2.0, CandidateFate::dropped);
  expect(kept.steps[1][0], 0, end, -0.7, CandidateFate::finished);
  expect(kept.steps[1][1], 1, c, -1.1, CandidateFate::stopped);
  expect(kept.steps[1][2], 1, a, -1.2, CandidateFate::stopped);
  expect(kept.steps[1][3], 0, b, -1.5, CandidateFate::dropped);
}

TEST(Beam, GoesOnWithTheBestAndPassesOverALateEnd) {
  const GenerationConfig rules = rules_of(2);
  Beam beam(rules, {.eos = end, .longest = 10, .n_best = 2});
  ASSERT_EQ(Beam::candidates(rules), 3);
  beam.extend(std::vector{a, b, end}, std::vector{-0.5f, -1.0f, -2.0f});  // the end is third
  ASSERT_EQ(beam.live().size(), 2u);
  EXPECT_EQ(beam.live()[0].ids, std::vector{a});
  EXPECT_EQ(beam.live()[1].ids, std::vector{b});
  // Of a: -1.5 and the end at -0.7; of b: -1.1 and -1.2.
  beam.extend(std::vector{end, b, c, c, a, b}, std::vector{-0.2f, -1.0f, -9.0f, -0.1f, -0.2f, -9.0f});
  ASSERT_EQ(beam.live().size(), 2u);
  EXPECT_EQ(beam.live()[0].ids, (std::vector{b, c}));
  EXPECT_EQ(beam.live()[1].ids, (std::vector{b, a}));
  EXPECT_FALSE(beam.done());
  beam.extend(std::vector{a, b, c, end, a, b}, std::vector{-0.1f, -3.0f, -4.0f, -0.1f, -5.0f, -6.0f});
  EXPECT_TRUE(beam.done());
  const auto best = beam.take_best();
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].ids, std::vector{a});
  EXPECT_NEAR(best[0].score, -0.7, 1e-6);
  EXPECT_EQ(best[1].ids, (std::vector{b, a}));
  EXPECT_NEAR(best[1].log_probability, -1.3, 1e-6);
}

TEST(Beam, AFinishedHypothesisMayKeepItsSlot) {
  GenerationConfig rules = rules_of(2);
  rules.finished_keeps_slot = true;
  Beam beam(rules, {.eos = end, .longest = 10, .n_best = 2});
  beam.extend(std::vector{a, end}, std::vector{-0.5f, -1.0f});
  ASSERT_EQ(beam.live().size(), 1u);
  beam.extend(std::vector{b, end}, std::vector{-0.5f, -0.6f});  // one slot is left: the end is beyond it
  ASSERT_EQ(beam.live().size(), 1u);
  beam.extend(std::vector{end, b}, std::vector{-0.5f, -0.6f});
  EXPECT_TRUE(beam.done());
  const auto best = beam.take_best();
  EXPECT_EQ(best[0].ids, std::vector<int32_t>());
  EXPECT_EQ(best[1].ids, (std::vector{a, b}));
}

TEST(Beam, EqualsAreRankedByParentThenId) {
  const GenerationConfig rules = rules_of(2);
  Beam beam(rules, {.eos = end, .longest = 10});
  beam.extend(std::vector{c, a, b}, std::vector{-1.0f, -1.0f, -1.0f});
  EXPECT_EQ(beam.live()[0].ids, std::vector{a});
  EXPECT_EQ(beam.live()[1].ids, std::vector{b});
  beam.extend(std::vector{b, c, end, a, b, c}, std::vector{-1.0f, -2.0f, -3.0f, -1.0f, -2.0f, -3.0f});
  EXPECT_EQ(beam.live()[0].ids, (std::vector{a, b}));
  EXPECT_EQ(beam.live()[1].ids, (std::vector{b, a}));
}

TEST(Beam, EndsWhenTheBestCannotBeReached) {
  GenerationConfig rules = rules_of(2);
  rules.stopping_criterion = StoppingCriterion::best_cannot_improve;
  rules.normalization = ScoreNormalization::length;
  rules.length_penalty = 1;
  const std::vector ids{end, a, b};
  // The end at -1; what goes on has -1.5 and could come to -1.5 / longest.
  const auto done_with = [&](int longest, int n_best) {
    Beam beam(rules, {.eos = end, .longest = longest, .n_best = n_best});
    beam.extend(ids, std::vector{-1.0f, -2.5f, -9.0f});
    return beam.done();
  };
  EXPECT_TRUE(done_with(2, 1));   // -1.25 at the best
  EXPECT_FALSE(done_with(3, 1));  // -0.83
  EXPECT_FALSE(done_with(2, 2));  // the second best is still wanted
}

TEST(Beam, MustEndAtTheLongestLength) {
  GenerationConfig rules = rules_of(2);
  Beam beam(rules, {.eos = end, .longest = 2, .n_best = 2});
  EXPECT_FALSE(beam.must_end());
  beam.extend(std::vector{a, b, c}, std::vector{-1.0f, -2.0f, -3.0f});
  ASSERT_TRUE(beam.must_end());
  beam.force_end(std::vector{-5.0f, -1.0f});
  EXPECT_TRUE(beam.done());
  const auto best = beam.take_best();
  EXPECT_EQ(best[0].ids, std::vector{b});
  EXPECT_NEAR(best[0].score, -3, 1e-6);
  EXPECT_EQ(best[1].ids, std::vector{a});
}

TEST(Beam, WhatIsNoNumberIsNotChosen) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const GenerationConfig rules = rules_of(2);
  Beam banned(rules, {.eos = end, .longest = 10});
  banned.extend(std::vector{a, -1, -1}, std::vector{-1.0f, -infinity, -infinity});
  EXPECT_EQ(banned.live().size(), 1u);
  Beam broken(rules, {.eos = end, .longest = 10});
  broken.extend(std::vector{-1, -1, -1}, std::vector{nan, nan, nan});
  EXPECT_TRUE(broken.done());
  EXPECT_TRUE(broken.take_best().empty());
}

TEST(Beam, AtTheLongestLengthAHypothesisMayBeCut) {
  GenerationConfig rules = rules_of(2);
  rules.at_longest = AtLongest::cut;
  Beam beam(rules, {.eos = end, .longest = 2, .n_best = 2});
  beam.extend(std::vector{a, b, c}, std::vector{-0.5f, -1.0f, -2.0f});
  EXPECT_FALSE(beam.must_end());
  beam.extend(std::vector{c, end, a, end, b, c}, std::vector{-0.1f, -0.3f, -9.0f, -0.1f, -5.0f, -6.0f});
  EXPECT_TRUE(beam.done());
  const auto best = beam.take_best();
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].ids, (std::vector{a, c}));  // no end symbol, and it counts as finished
  EXPECT_EQ(best[0].reason, FinishReason::cut);
  EXPECT_EQ(best[1].reason, FinishReason::end_token);
  EXPECT_NEAR(best[0].score, -0.6, 1e-6);
  EXPECT_EQ(best[1].ids, std::vector{a});
  EXPECT_NEAR(best[1].score, -0.8, 1e-6);
}

TEST(Hypothesis, EndsInALoop) {
  EXPECT_FALSE(ends_in_a_loop({}));
  EXPECT_FALSE(ends_in_a_loop({a, a, a}));
  EXPECT_TRUE(ends_in_a_loop({b, a, a, a, a}));
  EXPECT_FALSE(ends_in_a_loop({a, a, a, a, b}));  // it went on
  EXPECT_FALSE(ends_in_a_loop({a, b, a, b, a, b}));
  EXPECT_TRUE(ends_in_a_loop({c, a, b, a, b, a, b, a, b}));
  std::vector<int32_t> eight, nine;
  for (int i = 0; i < 36; ++i) eight.push_back(i % 8), nine.push_back(i % 9);
  EXPECT_TRUE(ends_in_a_loop(eight));
  EXPECT_FALSE(ends_in_a_loop(nine));
}

TEST(Beam, MayEndOnceTheBestIsNoBetterNow) {
  GenerationConfig rules = rules_of(2);
  rules.stopping_criterion = StoppingCriterion::best_is_no_better_now;
  rules.normalization = ScoreNormalization::length;
  rules.length_penalty = 1;
  Beam beam(rules, {.eos = end, .longest = 50, .n_best = 1});
  beam.extend(std::vector{a, end, b}, std::vector{-0.5f, -0.6f, -0.7f});  // one has finished, with -0.6
  EXPECT_FALSE(beam.done());
  // The second finishes with -1 / 2. The best unfinished one has -1.1 / 2, better than the first finished one's
  // -0.6.
  beam.extend(std::vector{end, c, a, b, c, a}, std::vector{-0.5f, -0.6f, -3.0f, -2.0f, -2.5f, -2.6f});
  EXPECT_FALSE(beam.done());
  // Now it has -2 / 3, which is no better; that more symbols could make it so is not asked.
  beam.extend(std::vector{c, a, b, c, a, b}, std::vector{-0.9f, -3.0f, -3.1f, -2.0f, -2.5f, -2.6f});
  EXPECT_TRUE(beam.done());
  EXPECT_NEAR(beam.take_best()[0].score, -0.5, 1e-6);
}

}  // namespace
}  // namespace sixfold
