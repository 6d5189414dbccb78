#include "runtime/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "error_message.h"
#include "model_folder/model_folder.h"
#include "runtime/searches.h"
#include "search/beam.h"
#include "search/scoring.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

TEST(Search, EqualsThePlainBeamSearchUnderAllRules) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const RandomModel model(9, seed);
    const auto sources = random_sources(5, 6, 9, seed);
    for (const SearchOptions& options : all_rules()) {
      const auto results = search_all(model, sources, options);
      for (size_t i = 0; i < sources.size(); ++i)
        expect_same(results[i], plain_beam_search(model, sources[i], options));
    }
  }
}

TEST(Search, BannedSymbolsAndAnotherStart) {
  const RandomModel model(9, 6, make_backend(), eos);
  const auto sources = random_sources(8, 6, 9, 2);
  SearchOptions options;
  options.rules.suppress_tokens = {0, 5};
  options.rules.length_offset = 4;
  const auto results = search_all(model, sources, options);
  for (size_t i = 0; i < sources.size(); ++i) {
    expect_same(results[i], plain_beam_search(model, sources[i], options));
    for (const int32_t id : {0, 1, 5})
      EXPECT_EQ(std::count(results[i][0].ids.begin(), results[i][0].ids.end(), id), 0);
  }
}

/// By default no output has the unknown token, also where it is the likeliest.
TEST(Search, TheUnknownTokenComesOnlyWhereItIsAllowed) {
  std::ptrdiff_t unknown = 0;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const RandomModel model(9, seed);
    const auto sources = random_sources(8, 6, 9, 2);
    SearchOptions options;
    options.n_best = options.rules.beam_size;
    options.rules.length_offset = 4;
    const auto count = [&] {
      std::ptrdiff_t sum = 0;
      for (const auto& best : search_all(model, sources, options))
        for (const Hypothesis& one : best) sum += std::ranges::count(one.ids, model.config().unk);
      return sum;
    };
    EXPECT_EQ(count(), 0);
    options.rules.allow_unk = true;
    unknown += count();
  }
  EXPECT_GT(unknown, 0);
}

TEST(Search, MinNewTokensAndRenormalizedProbabilities) {
  const RandomModel model(9, 6);
  const auto sources = random_sources(8, 6, 9, 2);
  for (const int min_new_tokens : {0, 3})
    for (const bool renormalize : {false, true})
      for (const int beam : {1, 4}) {
        SearchOptions options;
        options.rules.beam_size = beam;
        options.rules.suppress_tokens = {0, 5, 7};
        options.rules.min_new_tokens = min_new_tokens;
        options.rules.renormalize_logits = renormalize;
        options.rules.length_offset = 4;
        const auto results = search_all(model, sources, options);
        for (size_t i = 0; i < sources.size(); ++i) {
          expect_same(results[i], plain_beam_search(model, sources[i], options));
          EXPECT_GE(std::ssize(results[i][0].ids), min_new_tokens);
        }
      }
}

/// Where all others are banned, the one that is left is certain.
TEST(Search, TheOnlyTokenThatMayComeIsCertain) {
  const RandomModel model(9, 6);
  SearchOptions options;
  options.rules.suppress_tokens = {0, 3, 4, 5, 6, 7};
  options.rules.min_new_tokens = 5;
  options.rules.renormalize_logits = true;
  options.rules.length_factor = 0;
  options.rules.length_offset = 5;
  options.rules.at_longest = AtLongest::certain_end;
  const auto results = search_all(model, {{4, eos}}, options);
  EXPECT_EQ(results[0][0].ids, (Ids{8, 8, 8, 8}));
  EXPECT_NEAR(results[0][0].log_probability, 0, 1e-6);
}

TEST(Search, ABeamOfOneTakesTheLikeliestSymbolEachTime) {
  const RandomModel model(30, 7);
  SearchOptions options;
  options.rules.beam_size = 1;
  options.rules.length_offset = 10;
  const auto sources = random_sources(10, 9, 30, 3);
  const auto results = search_all(model, sources, options);
  for (size_t i = 0; i < sources.size(); ++i) {
    Ids ids;
    while (ids.size() + 1 < sources[i].size() + 10) {
      auto next = next_symbols(model, sources[i], ids);
      next[0] = next[1] = -INFINITY;  // neither the unknown token nor the start token
      const auto best = std::max_element(next.begin(), next.end()) - next.begin();
      if (best == eos) break;
      ids.push_back(static_cast<int32_t>(best));
    }
    EXPECT_EQ(results[i].at(0).ids, ids);
  }
}

/// The best of all outputs of at most `left` symbols more.
void try_all(const Transformer& model, const Ids& source, const GenerationConfig& rules,
             const Hypothesis& so_far, size_t left, Hypothesis& best) {
  const auto next = next_symbols(model, source, so_far.ids);
  for (int32_t id = 0; id < model.config().target_vocab; ++id) {
    Hypothesis longer = so_far;
    longer.log_probability += next[static_cast<size_t>(id)];
    longer.score = divided(rules, longer.log_probability, so_far.ids.size() + 1);
    if (id == eos && longer.score > best.score) best = longer;
    if (id == eos || id == model.config().bos || id == model.config().unk || left == 1) continue;
    longer.ids.push_back(id);
    try_all(model, source, rules, longer, left - 1, best);
  }
}

TEST(Search, AWideBeamFindsTheBestOfAll) {
  const RandomModel model(5, 8);
  SearchOptions options;
  options.rules.beam_size = 100;
  options.rules.length_factor = 0;
  options.rules.length_offset = 4;
  for (const auto normalization : {ScoreNormalization::none, ScoreNormalization::gnmt}) {
    options.rules.normalization = normalization;
    for (const Ids& source : random_sources(3, 5, 5, 4)) {
      Hypothesis best;
      best.score = -INFINITY;
      try_all(model, source, options.rules, {}, 4, best);
      expect_same(search_all(model, {source}, options)[0], {best});
    }
  }
}

TEST(Search, ScoresAreThoseOfScoreTargets) {
  const RandomModel model(40, 9);
  SearchOptions options;
  options.n_best = 4;
  options.rules.length_offset = 20;
  const auto sources = random_sources(12, 20, 40, 5);
  const auto results = search_all(model, sources, options);
  std::vector<Ids> repeated, targets;
  std::vector<double> expected;
  for (size_t i = 0; i < sources.size(); ++i)
    for (const Hypothesis& hypothesis : results[i]) {
      repeated.push_back(sources[i]);
      targets.push_back(hypothesis.ids);
      expected.push_back(hypothesis.log_probability);
    }
  for (const int64_t batch_tokens : {1, 100, 4096}) {
    const auto scores = score_targets(model, repeated, targets, batch_tokens);
    ASSERT_EQ(scores.size(), targets.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      ASSERT_EQ(scores[i].size(), targets[i].size() + 1);
      EXPECT_NEAR(std::accumulate(scores[i].begin(), scores[i].end(), 0.0), expected[i], 1e-4);
    }
  }
}

TEST(Search, WhatASourceGetsDependsOnItselfAlone) {
  const int vocab = 60;
  const auto sources = random_sources(60, 18, vocab, 6);
  const RandomModel model(vocab, 10), in_threads(vocab, 10, make_backend({.threads = 2}));
  for (const int beam : {1, 4}) {
    SearchOptions options;
    options.rules.beam_size = options.n_best = beam;
    options.rules.length_offset = 12;
    options.rules.min_new_tokens = 4;
    options.batch_tokens = 1;
    const auto alone = search_all(model, sources, options);
    const auto expect_equal = [&](const Transformer& with, int64_t batch_tokens) {
      options.batch_tokens = batch_tokens;
      const auto results = search_all(with, sources, options);
      for (size_t i = 0; i < sources.size(); ++i) {
        ASSERT_EQ(results[i].size(), alone[i].size());
        for (size_t j = 0; j < alone[i].size(); ++j) {
          EXPECT_EQ(results[i][j].ids, alone[i][j].ids);
          EXPECT_EQ(results[i][j].score, alone[i][j].score);  // to the bit
        }
      }
    };
    expect_equal(model, 7 * 10 * beam);
    expect_equal(model, 1'000'000);
    expect_equal(in_threads, 1'000'000);
  }
}

/// The model in int8, of which the rows of shortlists are read where they lie.
std::unique_ptr<Transformer> in_int8(const Transformer& model) {
  const TemporaryFolder folder;
  save_model(model, folder.path());
  return load_packed_model(folder.path(), make_backend(), WeightType::int8);
}

void expect_nothing_changed_by_a_shortlist_of_all(const Transformer& model) {
  const int vocab = model.config().target_vocab;
  const auto sources = random_sources(30, 12, vocab, 6);
  Ids all(vocab);
  std::iota(all.begin(), all.end(), 0);
  const Shortlist shortlist(all, {});
  for (const int beam : {1, 4}) {
    SearchOptions options;
    options.rules.beam_size = beam;
    options.rules.length_offset = 6;
    options.rules.suppress_tokens = {7};
    for (const bool renormalize : {false, true}) {
      options.rules.renormalize_logits = renormalize;
      options.rules.min_new_tokens = renormalize ? 3 : 0;
      options.shortlist = nullptr;
      const auto expected = search_all(model, sources, options);
      options.shortlist = &shortlist;
      const auto actual = search_all(model, sources, options);
      for (size_t i = 0; i < sources.size(); ++i) {
        EXPECT_EQ(actual[i][0].ids, expected[i][0].ids);
        EXPECT_EQ(actual[i][0].score, expected[i][0].score);  // to the bit: rows don't know of their neighbours
      }
    }
  }
}

TEST(Search, AShortlistOfAllSymbolsChangesNothing) {
  const RandomModel model(60, 10);
  expect_nothing_changed_by_a_shortlist_of_all(model);
  expect_nothing_changed_by_a_shortlist_of_all(*in_int8(model));
}

void expect_each_source_bound_by_its_shortlist(const Transformer& model) {
  const int vocab = model.config().target_vocab;
  const auto sources = random_sources(40, 12, vocab, 6);
  std::vector<Ids> by_source(vocab);
  for (int id = 0; id < vocab; ++id) by_source[static_cast<size_t>(id)] = {id, (id * 7) % vocab};
  const Shortlist shortlist({5}, by_source);
  for (const AtLongest at_longest : {AtLongest::end_symbol, AtLongest::cut}) {
    SearchOptions options;
    options.rules.beam_size = options.n_best = 4;
    options.rules.length_offset = 6;
    options.rules.at_longest = at_longest;
    options.shortlist = &shortlist;
    options.batch_tokens = 1;
    const auto alone = search_all(model, sources, options);
    options.batch_tokens = 100000;
    const auto together = search_all(model, sources, options);
    for (size_t i = 0; i < sources.size(); ++i) {
      const Ids allowed = shortlist.targets(sources[i]);
      ASSERT_EQ(alone[i].size(), together[i].size());
      for (size_t j = 0; j < alone[i].size(); ++j) {
        EXPECT_EQ(alone[i][j].ids, together[i][j].ids);
        EXPECT_EQ(alone[i][j].score, together[i][j].score);
        for (const int32_t id : alone[i][j].ids)
          EXPECT_TRUE(id < 10 || std::count(allowed.begin(), allowed.end(), id))
              << id;  // few are filled up from 0
      }
    }
  }
}

TEST(Search, AShortlistBindsEachSourceByItself) {
  const RandomModel model(60, 10);
  expect_each_source_bound_by_its_shortlist(model);
  expect_each_source_bound_by_its_shortlist(*in_int8(model));
}

TEST(Search, TheLongestOutputEndsWithTheEndSymbol) {
  const RandomModel model(30, 11);
  SearchOptions options;
  options.rules.suppress_tokens = {eos};  // so that nothing ends before
  options.rules.length_offset = 3;
  const auto sources = random_sources(6, 8, 30, 7);
  const auto results = search_all(model, sources, options);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Hypothesis& best = results[i].at(0);
    EXPECT_EQ(best.ids.size() + 1, sources[i].size() + 3);
    EXPECT_EQ(best.reason, FinishReason::forced_end);
    const auto scores = score_targets(model, {sources[i]}, {best.ids}, 100);
    EXPECT_NEAR(best.log_probability, std::accumulate(scores[0].begin(), scores[0].end(), 0.0), 1e-4);
  }
}

TEST(Search, EmptySources) {
  const RandomModel model(20, 12);
  const std::vector<Ids> sources{{}, {4, 5, 6, 7, 8, 9, 10, 11, eos}, {}, {4, eos}, {}};
  SearchOptions options;
  options.batch_tokens = 4;  // the second is longer than this
  const auto results = search_all(model, sources, options);
  for (const size_t i : {0, 2, 4}) {
    ASSERT_EQ(results[i].size(), 1u);
    EXPECT_TRUE(results[i][0].ids.empty());
    EXPECT_EQ(results[i][0].score, 0);
  }
  EXPECT_EQ(results[1].size(), 1u);
  EXPECT_EQ(results[3].size(), 1u);
  EXPECT_TRUE(search_all(model, {}, options).empty());
}

TEST(Search, IsCancelled) {
  const RandomModel model(20, 13);
  std::stop_source stop;
  SearchOptions options;
  options.rules.length_offset = 1000;
  options.cancel = stop.get_token();
  stop.request_stop();
  EXPECT_THROW(search_all(model, {{4, eos}}, options), Cancelled);
}

/// Every n-gram of some size, of all hypotheses.
bool repeats(const Ids& ids, size_t size) {
  std::set<Ids> seen;
  for (size_t i = 0; i + size <= ids.size(); ++i)
    if (!seen.insert(Ids(ids.begin() + static_cast<std::ptrdiff_t>(i),
                         ids.begin() + static_cast<std::ptrdiff_t>(i + size)))
             .second)
      return true;
  return false;
}

TEST(Search, ObeysTheSettingsOfEachToken) {
  for (const uint64_t seed : {1, 2, 3})
    for (const int beam : {1, 3}) {
      const RandomModel model(12, seed);
      const auto sources = random_sources(12, 6, 12, seed);
      SearchOptions options;
      options.rules.beam_size = options.n_best = beam;
      options.rules.length_offset = 12;
      options.rules.at_longest = AtLongest::cut;
      options.rules.min_new_tokens = 8;
      const auto plain = search_all(model, sources, options);
      const auto any = [](const auto& results, const auto& is) {
        return std::ranges::any_of(results, [&](const auto& best) {
          return std::ranges::any_of(best, [&](const Hypothesis& one) { return is(one.ids); });
        });
      };
      const auto twice = [](const Ids& ids) { return repeats(ids, 2); };
      EXPECT_TRUE(any(plain, twice));
      SearchOptions changed = options;
      changed.rules.no_repeat_ngram = 2;
      EXPECT_FALSE(any(search_all(model, sources, changed), twice));
      changed = options;
      changed.rules.forced_first_token = 7;
      for (const auto& best : search_all(model, sources, changed))
        for (const Hypothesis& one : best) EXPECT_EQ(one.ids.front(), 7);
      changed = options;
      changed.rules.begin_suppress_tokens = {3, 4, 5, 6};
      EXPECT_FALSE(any(search_all(model, sources, changed),
                       [](const Ids& ids) { return !ids.empty() && ids[0] >= 3 && ids[0] <= 6; }));
      // A phrase that comes, forbidden, does not come.
      const Ids phrase = [&] {
        for (const auto& best : plain)
          for (const Hypothesis& one : best)
            if (one.ids.size() >= 3) return Ids(one.ids.begin() + 1, one.ids.begin() + 3);
        return Ids();
      }();
      ASSERT_EQ(phrase.size(), 2u);
      const auto has_phrase = [&](const Ids& ids) {
        return std::search(ids.begin(), ids.end(), phrase.begin(), phrase.end()) != ids.end();
      };
      EXPECT_TRUE(any(plain, has_phrase));
      changed = options;
      changed.rules.suppress_phrases = {phrase};
      EXPECT_FALSE(any(search_all(model, sources, changed), has_phrase));
      // A large penalty repeats less, one of 1 changes nothing.
      changed = options;
      changed.rules.repetition_penalty = 50;
      const auto repeated = [](const auto& results) {
        int count = 0;
        for (const auto& best : results)
          for (const Hypothesis& one : best)
            count +=
                static_cast<int>(one.ids.size() - std::set<int32_t>(one.ids.begin(), one.ids.end()).size());
        return count;
      };
      EXPECT_LT(repeated(search_all(model, sources, changed)), repeated(plain));
    }
}

/// Where all tokens but a few came before, they are still candidates.
TEST(Search, PenalizedTokensMayComeAgain) {
  const RandomModel model(5, 3);  // of its tokens, outputs have 3 and 4
  SearchOptions options;
  options.rules.beam_size = options.n_best = 3;
  options.rules.min_new_tokens = 6;
  options.rules.repetition_penalty = 1.5f;
  for (const auto& best : search_all(model, random_sources(5, 4, 5, 3), options)) {
    ASSERT_EQ(best.size(), 3u);
    for (const Hypothesis& one : best) EXPECT_GE(one.ids.size(), 6u);
  }
}

/// With a shortlist the settings hold too; the forced token need not be in it.
TEST(Search, SettingsHoldWithAShortlist) {
  const RandomModel model(12, 5);
  const Shortlist shortlist({3, 4, 5}, {});
  SearchOptions options{.shortlist = &shortlist};
  options.rules.forced_first_token = 7;
  options.rules.repetition_penalty = 2;
  options.rules.no_repeat_ngram = 1;
  for (const auto& best : search_all(model, random_sources(8, 6, 12, 5), options))
    for (const Hypothesis& one : best) {
      EXPECT_EQ(one.ids.front(), 7);
      EXPECT_FALSE(repeats(one.ids, 1));
    }
}

TEST(Search, RefusesWhatItCannotDo) {
  const RandomModel model(20, 13);
  const auto message = [&](const auto& change) {
    SearchOptions options;
    change(options);
    return error_message([&] { search_all(model, {{4, eos}}, options); });
  };
  EXPECT_NE(message([](auto& o) { o.rules.forced_first_token = eos; }).find("forced_first_token is 2"),
            std::string::npos);
  EXPECT_NE(message([](auto& o) { o.n_best = 5; }).find("n_best is 5"), std::string::npos);
  EXPECT_NE(
      message([](auto& o) { o.rules.beam_size = 0; }).find("beam_size: expected a whole number from 1 to 1000"),
      std::string::npos);
  EXPECT_NE(message([](auto& o) { o.rules.suppress_tokens = {20}; }).find("20 tokens"), std::string::npos);
  EXPECT_NE(error_message([&] { search_all(model, {{99, eos}}, {}); }).find("source id 99"), std::string::npos);
  EXPECT_NE(error_message([&] { score_targets(model, {{}}, {{4}}, 10); }).find("source 0"), std::string::npos);
  EXPECT_NE(error_message([&] { score_targets(model, {{eos}}, {}, 10); }).find("1 sources"), std::string::npos);
}

TEST(Search, BrokenWeightsAreSaid) {
  RandomModel model(20, 14);
  Tensor& weight = model.parameters().back().tensor;
  weight.copy_from(*model.backend(), std::vector<float>(static_cast<size_t>(weight.size()), std::nanf("")));
  model.pack();
  SearchOptions options;
  EXPECT_NE(error_message([&] { search_all(model, {{4, eos}}, options); }).find("NaN"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
