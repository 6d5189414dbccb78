#include "search/constraints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "error_message.h"
#include "runtime/running_batch.h"
#include "search/plain_beam_search.h"
#include "search/random_model.h"
#include "search/scoring.h"

namespace sixfold {
namespace {

/// How often a phrase occurs, overlapping.
int64_t occurrences(const Ids& ids, const Ids& phrase) {
  int64_t count = 0;
  for (size_t i = 0; i + phrase.size() <= ids.size(); ++i)
    count += std::equal(phrase.begin(), phrase.end(), ids.begin() + static_cast<std::ptrdiff_t>(i)) ? 1 : 0;
  return count;
}

/// The number of phrases that an output lacks; that of banned ones that it has.
size_t lacking(const Ids& ids, const LexicalConstraints& constraints) {
  size_t lacking = 0;
  for (size_t i = 0; i < constraints.phrases.size(); ++i) {
    const Ids& phrase = constraints.phrases[i];
    const auto before = std::count(constraints.phrases.begin(),
                                   constraints.phrases.begin() + static_cast<std::ptrdiff_t>(i), phrase);
    lacking += occurrences(ids, phrase) <= before ? 1 : 0;
  }
  for (const Ids& phrase : constraints.banned_phrases) lacking += occurrences(ids, phrase) > 0 ? 1 : 0;
  return lacking;
}

class Results final : public ResultSink {
 public:
  explicit Results(size_t count) : all(count) {}
  void done(size_t index, const DecodeWorkspace&, std::vector<Hypothesis> best_first) override {
    all[index] = std::move(best_first);
  }
  void failed(size_t, std::exception_ptr failure) noexcept override { error = failure; }

  std::vector<std::vector<Hypothesis>> all;
  std::exception_ptr error;
};

std::vector<std::vector<Hypothesis>> search_all(const Transformer& model, const std::vector<Ids>& sources,
                                                const std::vector<LexicalConstraints>& constraints,
                                                const SearchOptions& options) {
  const DecodeWorkspace workspace(model);
  const SearchRequests requests(model.config(), options);
  Results results(sources.size());
  RequestQueue queue;
  for (size_t i = 0; i < sources.size(); ++i) queue.push(requests.make(sources[i], results, i, constraints[i]));
  RunningBatch batch(workspace, queue);
  while (batch.step() || !queue.empty()) {
  }
  if (results.error) std::rethrow_exception(results.error);
  return std::move(results.all);
}

/// Finds the best of all outputs that satisfy the constraints, with at most `left` tokens more.
void try_all(const Transformer& model, const Ids& source, const SearchOptions& options,
             const LexicalConstraints& constraints, const Hypothesis& so_far, size_t left, Hypothesis& best) {
  const auto next = next_symbols(model, source, so_far.ids);
  const size_t place = so_far.ids.size();
  for (int32_t id = 0; id < model.config().target_vocab; ++id) {
    if (place < constraints.prefix.size() && id != constraints.prefix[place]) continue;
    Hypothesis longer = so_far;
    longer.log_probability += next[static_cast<size_t>(id)];
    longer.score = divided(options.rules, longer.log_probability, place + 1);
    if (id == eos && longer.score > best.score && lacking(longer.ids, constraints) == 0) best = longer;
    if (id == eos || id == model.config().bos || left == 1) continue;
    longer.ids.push_back(id);
    try_all(model, source, options, constraints, longer, left - 1, best);
  }
}

std::vector<LexicalConstraints> kinds_of_constraints() {
  return {{.prefix = {}, .phrases = {{4}}, .banned_phrases = {}},
          {.prefix = {}, .phrases = {{3, 4}}, .banned_phrases = {}},
          {.prefix = {}, .phrases = {{3, 3, 4}}, .banned_phrases = {}},
          {.prefix = {}, .phrases = {{4}, {0}}, .banned_phrases = {}},
          {.prefix = {}, .phrases = {{3, 4}, {4, 0}}, .banned_phrases = {}},  // they may overlap
          {.prefix = {}, .phrases = {{4}, {4}}, .banned_phrases = {}},
          {.prefix = {}, .phrases = {}, .banned_phrases = {{3}, {4, 4}}},
          {.prefix = {}, .phrases = {{0, 4}}, .banned_phrases = {{4, 3}, {3, 0}}},
          {.prefix = {3}, .phrases = {}, .banned_phrases = {}},
          {.prefix = {0, 4}, .phrases = {{4, 3}}, .banned_phrases = {{3, 3}}}};
}

TEST(Constraints, AWideBeamFindsTheBestOfAllOutputsThatSatisfyThem) {
  const RandomModel model(5, 8);
  SearchOptions options;
  options.rules.beam_size = 400;
  options.rules.allow_unk = true;  // token 0, which some constraints contain
  options.rules.length_factor = 0;
  options.rules.length_offset = 5;
  const std::vector<LexicalConstraints> all = kinds_of_constraints();
  for (const auto normalization : {ScoreNormalization::none, ScoreNormalization::gnmt}) {
    options.rules.normalization = normalization;
    for (const Ids& source : random_sources(2, 5, 5, 4)) {
      const auto results = search_all(model, std::vector<Ids>(all.size(), source), all, options);
      for (size_t i = 0; i < all.size(); ++i) {
        Hypothesis best;
        best.score = -INFINITY;
        try_all(model, source, options, all[i], {}, 5, best);
        ASSERT_EQ(results[i].size(), 1u);
        EXPECT_EQ(results[i][0].ids, best.ids) << "constraints " << i;
        EXPECT_NEAR(results[i][0].log_probability, best.log_probability, 1e-4);
        EXPECT_NEAR(results[i][0].score, best.score, 1e-4);
        EXPECT_TRUE(results[i][0].unmet.empty());
      }
    }
  }
}

/// The unknown token is never generated, but a prefix is given and not generated.
TEST(Constraints, APrefixMayHaveTheUnknownToken) {
  const RandomModel model(5, 8);
  const auto results =
      search_all(model, {{4, eos}}, {{.prefix = {0, 4}, .phrases = {}, .banned_phrases = {}}}, {});
  const Ids& ids = results[0][0].ids;
  ASSERT_GE(ids.size(), 2u);
  EXPECT_EQ((Ids{ids[0], ids[1]}), (Ids{0, 4}));
  EXPECT_EQ(std::ranges::count(ids, 0), 1);
}

LexicalConstraints random_constraints(RandomStream& random, uint32_t vocab) {
  LexicalConstraints constraints;
  const auto some = [&](uint32_t most) {
    Ids ids(1 + random.below(most));
    for (int32_t& id : ids) id = 3 + static_cast<int32_t>(random.below(vocab - 3));
    return ids;
  };
  if (random.below(2) == 0) constraints.prefix = some(3);
  for (uint32_t i = random.below(4); i > 0; --i) constraints.phrases.push_back(some(3));
  for (uint32_t i = random.below(3); i > 0; --i) constraints.banned_phrases.push_back(some(2));
  const auto conflicts = [&](const Ids& banned) {
    return occurrences(constraints.prefix, banned) > 0 ||
           std::ranges::any_of(constraints.phrases,
                               [&](const Ids& ids) { return occurrences(ids, banned) > 0; });
  };
  std::erase_if(constraints.banned_phrases, conflicts);
  return constraints;
}

/// All settings that concern the choice and the end of hypotheses.
std::vector<SearchOptions> constrained_rules() {
  std::vector<SearchOptions> all;
  for (const int beam : {1, 2, 5})
    for (const auto end : {StoppingCriterion::best_cannot_improve, StoppingCriterion::beam_finished,
                           StoppingCriterion::best_is_no_better_now})
      for (const bool other : {false, true}) {
        SearchOptions options;
        options.rules.beam_size = options.n_best = beam;
        options.rules.stopping_criterion = end;
        options.rules.finished_keeps_slot = other;
        options.rules.renormalize_logits = other;
        options.rules.min_new_tokens = other ? 3 : 0;
        options.rules.suppress_tokens = {0};
        options.rules.length_offset = 20;
        all.push_back(options);
      }
  return all;
}

TEST(Constraints, AreMetUnderAllRulesAndScoresAreThoseOfTheModel) {
  const int vocab = 40;
  const RandomModel model(vocab, 9);
  const auto sources = random_sources(24, 8, vocab, 5);
  RandomStream random(3, 0);
  std::vector<LexicalConstraints> constraints;
  for (size_t i = 0; i < sources.size(); ++i) constraints.push_back(random_constraints(random, vocab));
  for (const SearchOptions& options : constrained_rules()) {
    const auto results = search_all(model, sources, constraints, options);
    for (size_t i = 0; i < sources.size(); ++i)
      for (const Hypothesis& hypothesis : results[i]) {
        EXPECT_EQ(lacking(hypothesis.ids, constraints[i]), hypothesis.unmet.size());
        EXPECT_TRUE(hypothesis.unmet.empty() || &hypothesis != &results[i][0]);  // the best at least
        const Ids& prefix = constraints[i].prefix;
        ASSERT_GE(hypothesis.ids.size(), prefix.size());
        EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), hypothesis.ids.begin()));
        if (options.rules.renormalize_logits) continue;
        const auto scores = score_targets(model, {sources[i]}, {hypothesis.ids}, 100);
        EXPECT_NEAR(hypothesis.log_probability, std::accumulate(scores[0].begin(), scores[0].end(), 0.0), 1e-3);
      }
  }
}

TEST(Constraints, WhatASourceGetsDependsOnItselfAlone) {
  const int vocab = 60;
  const auto sources = random_sources(40, 18, vocab, 6);
  const RandomModel model(vocab, 10), in_threads(vocab, 10, make_backend({.threads = 2}));
  RandomStream random(4, 0);
  std::vector<LexicalConstraints> constraints;
  for (size_t i = 0; i < sources.size(); ++i) constraints.push_back(random_constraints(random, vocab));
  std::vector<Ids> by_source(vocab);
  for (int id = 0; id < vocab; ++id) by_source[static_cast<size_t>(id)] = {id, (id * 7) % vocab};
  const Shortlist shortlist({5}, by_source);
  for (const Shortlist* chosen : {static_cast<const Shortlist*>(nullptr), &shortlist}) {
    SearchOptions options;
    options.rules.length_offset = 12;
    options.n_best = 3;
    options.batch_tokens = 1;
    options.shortlist = chosen;
    const auto alone = search_all(model, sources, constraints, options);
    for (const Transformer* with :
         {static_cast<const Transformer*>(&model), static_cast<const Transformer*>(&in_threads)}) {
      options.batch_tokens = 100'000;
      const auto together = search_all(*with, sources, constraints, options);
      for (size_t i = 0; i < sources.size(); ++i) {
        ASSERT_EQ(together[i].size(), alone[i].size());
        for (size_t j = 0; j < alone[i].size(); ++j) {
          EXPECT_EQ(together[i][j].ids, alone[i][j].ids);
          EXPECT_EQ(together[i][j].score, alone[i][j].score);  // to the bit
          EXPECT_EQ(lacking(alone[i][j].ids, constraints[i]), alone[i][j].unmet.size());
          EXPECT_TRUE(alone[i][j].unmet.empty() || j > 0);
        }
      }
    }
  }
}

/// The same search, with and without something that is asked for but changes nothing.
TEST(Constraints, ThoseThatTheBestOutputSatisfiesChangeNothing) {
  const int vocab = 30;
  const RandomModel model(vocab, 7);
  const auto sources = random_sources(20, 9, vocab, 3);
  SearchOptions options;
  options.rules.beam_size = 1;
  options.rules.length_offset = 8;
  const std::vector<LexicalConstraints> none(sources.size());
  const auto expected = search_all(model, sources, none, options);
  std::vector<LexicalConstraints> prefixes;
  for (const auto& best : expected) {
    const Ids& ids = best[0].ids;
    prefixes.push_back({.prefix = {ids.begin(), ids.begin() + std::ssize(ids) / 2},
                        .phrases = {},
                        .banned_phrases = {{3, 3, 3, 3, 3, 3, 3, 3}}});
  }
  const auto results = search_all(model, sources, prefixes, options);
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(results[i][0].ids, expected[i][0].ids);
    EXPECT_NEAR(results[i][0].score, expected[i][0].score, 1e-5);
  }
}

TEST(Constraints, WhatCannotBeMetIsSaid) {
  const RandomModel model(30, 11);
  SearchOptions options;
  options.rules.length_factor = 0;
  options.rules.length_offset = 4;
  options.rules.suppress_tokens = {9};
  const LexicalConstraints too_long{.prefix = {}, .phrases = {{4, 5}, {6, 7, 8}}, .banned_phrases = {}};
  const LexicalConstraints suppressed{.prefix = {}, .phrases = {{5}, {9}}, .banned_phrases = {}};
  const LexicalConstraints long_prefix{
      .prefix = {4, 5, 6, 7, 8, 9}, .phrases = {{3, 3}, {5, 6}}, .banned_phrases = {}};
  for (const AtLongest at_longest : {AtLongest::end_symbol, AtLongest::certain_end, AtLongest::cut}) {
    options.rules.at_longest = at_longest;
    const auto results =
        search_all(model, std::vector<Ids>(3, Ids{4, eos}), {too_long, suppressed, long_prefix}, options);
    EXPECT_EQ(results[0][0].unmet.size(), 1u);
    EXPECT_EQ(lacking(results[0][0].ids, too_long), 1u);
    EXPECT_EQ(results[1][0].unmet, std::vector<size_t>{1});
    EXPECT_EQ(results[2][0].unmet, std::vector<size_t>{0});
    EXPECT_GE(results[2][0].ids.size(), 6u);
  }
}

TEST(Constraints, WhereNoTokenMayFollowTheOutputIsCut) {
  const RandomModel model(6, 11);
  SearchOptions options;
  options.rules.min_new_tokens = 3;
  options.rules.suppress_tokens = {0};
  LexicalConstraints all{.prefix = {3}, .phrases = {}, .banned_phrases = {{3, 3}, {4}, {5}}};
  const auto results = search_all(model, {{4, eos}}, {all}, options);
  EXPECT_EQ(results[0][0].ids, Ids{3});
  EXPECT_EQ(results[0][0].reason, FinishReason::cut);
  EXPECT_TRUE(std::isfinite(results[0][0].score));
}

TEST(Constraints, AreRefusedIfTheyMeanNothing) {
  const RandomModel model(20, 13);
  const auto message = [&](const LexicalConstraints& constraints) {
    return error_message([&] { search_all(model, {{4, eos}}, {constraints}, {}); });
  };
  EXPECT_NE(message({.prefix = {}, .phrases = {{4}, {}}, .banned_phrases = {}}).find("phrase 2 is empty"),
            std::string::npos);
  EXPECT_NE(message({.prefix = {}, .phrases = {}, .banned_phrases = {{}}}).find("banned phrase 1 is empty"),
            std::string::npos);
  EXPECT_NE(message({.prefix = {}, .phrases = {{20}}, .banned_phrases = {}}).find("not in the vocabulary"),
            std::string::npos);
  EXPECT_NE(message({.prefix = {20}, .phrases = {}, .banned_phrases = {}}).find("20"), std::string::npos);
}

/// The progress by the automata equals that by looking at the whole text.
TEST(PhraseSet, CountsWhatIsMet) {
  RandomStream random(1, 0);
  for (int round = 0; round < 300; ++round) {
    std::vector<Ids> phrases(1 + random.below(4));
    for (Ids& phrase : phrases) {
      phrase.resize(1 + random.below(4));
      for (int32_t& id : phrase) id = static_cast<int32_t>(random.below(2));
    }
    const PhraseSet set(phrases);
    const LexicalConstraints constraints{.prefix = {}, .phrases = phrases, .banned_phrases = {}};
    PhraseProgress progress = set.start();
    Ids text;
    for (int step = 0; step < 12; ++step) {
      text.push_back(static_cast<int32_t>(random.below(2)));
      progress = set.after(progress, text.back());
      EXPECT_EQ(set.unmet(progress).size(), lacking(text, constraints));
      EXPECT_EQ(set.complete(progress), lacking(text, constraints) == 0);
      int met = 0, farthest = 0, whole = 0;
      for (size_t i = 0; i < phrases.size(); ++i) {
        const auto size = static_cast<int>(phrases[i].size());
        whole += size;
        const auto listed = std::count(phrases.begin(), phrases.end(), phrases[i]);
        if (std::find(phrases.begin(), phrases.begin() + static_cast<std::ptrdiff_t>(i), phrases[i]) ==
            phrases.begin() + static_cast<std::ptrdiff_t>(i))
          met += size * static_cast<int>(std::min(listed, occurrences(text, phrases[i])));
        if (occurrences(text, phrases[i]) >= listed) continue;
        for (int n = std::min(size - 1, static_cast<int>(text.size())); n > farthest; --n)
          if (std::equal(text.end() - n, text.end(), phrases[i].begin())) farthest = n;
      }
      EXPECT_EQ(set.met(progress), met + farthest);
      EXPECT_EQ(set.tokens(), whole);
    }
  }
}

/// Tokens 2 and 3 are followed by the rest of their word.
TEST(PhraseSet, PhrasesBeginWhereWordsBegin) {
  const auto goes_on = [](int32_t id) { return id >= 2; };
  const auto count = [&](const Ids& text, const Ids& phrase) {
    int64_t found = 0;
    for (size_t at = 0; at + phrase.size() <= text.size(); ++at)
      if ((at == 0 || !goes_on(text[at - 1])) &&
          std::equal(phrase.begin(), phrase.end(), text.begin() + static_cast<std::ptrdiff_t>(at)))
        ++found;
    return found;
  };
  EXPECT_EQ(count({2, 0, 1}, {0, 1}), 0);
  RandomStream random(2, 0);
  for (int round = 0; round < 2000; ++round) {
    Ids phrase(1 + random.below(5));
    for (int32_t& id : phrase) id = static_cast<int32_t>(random.below(4));
    const std::vector<Ids> often(12, phrase);
    const PhraseSet set(often, goes_on);
    PhraseProgress progress = set.start();
    Ids text;
    for (int step = 0; step < 12; ++step) {
      text.push_back(static_cast<int32_t>(random.below(4)));
      progress = set.after(progress, text.back());
      ASSERT_EQ(12 - std::ssize(set.unmet(progress)), count(text, phrase)) << round;
    }
  }
}

/// 3 goes on the word that 2 ends: a phrase that ends with 2 does not occur then.
TEST(PhraseSet, PhrasesEndWhereWordsEnd) {
  const std::vector<Ids> phrases{{1, 2}};
  const PhraseSet set(phrases, {}, [](int32_t last, int32_t next) { return last == 2 && next == 3; });
  const auto met = [&](const Ids& ids) {
    PhraseProgress progress = set.start();
    for (const int32_t id : ids) progress = set.after(progress, id);
    return set.met(progress);
  };
  EXPECT_EQ(met({1, 2}), 2);
  EXPECT_EQ(met({1, 2, 4}), 2);
  EXPECT_EQ(met({1, 2, 3}), 0);
  EXPECT_EQ(met({1, 2, 3, 1}), 1);
  EXPECT_EQ(met({1, 2, 3, 1, 2, 4, 3}), 2);
  EXPECT_EQ(met({1, 2, 4, 1, 2, 3}), 2) << "it occurs before";
}

TEST(DivideBeam, GivesEachBankItsPartAndTheRestToTheLast) {
  using Sizes = std::vector<size_t>;
  EXPECT_EQ(divide_beam(10, Sizes{99, 99, 99}), (Sizes{3, 3, 4}));
  EXPECT_EQ(divide_beam(10, Sizes{99, 99, 0}), (Sizes{3, 7, 0}));
  EXPECT_EQ(divide_beam(10, Sizes{99, 1, 1}), (Sizes{8, 1, 1}));
  EXPECT_EQ(divide_beam(10, Sizes{1, 1, 99}), (Sizes{1, 1, 8}));
  EXPECT_EQ(divide_beam(10, Sizes{1, 2, 3}), (Sizes{1, 2, 3}));
  EXPECT_EQ(divide_beam(2, Sizes{9, 9, 9}), (Sizes{0, 0, 2}));
  EXPECT_EQ(divide_beam(4, Sizes{9}), (Sizes{4}));
}

}  // namespace
}  // namespace sixfold
