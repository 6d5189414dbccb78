#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "error_message.h"
#include "runtime/running_batch.h"
#include "runtime/searches.h"
#include "search/scoring.h"

namespace sixfold {
namespace {

SearchOptions drawn(int count, const DrawOptions& draw = {}, uint64_t seed = 1) {
  SearchOptions options;
  options.rules.length_offset = 4;
  options.n_best = count;
  options.drawn = DrawnOutputs{draw, seed};
  return options;
}

std::vector<Ids> ids_of(const std::vector<Hypothesis>& all) {
  std::vector<Ids> ids;
  for (const Hypothesis& one : all) ids.push_back(one.ids);
  std::ranges::sort(ids);
  return ids;
}

TEST(Samples, AtTemperature0AreGreedySearch) {
  int compared = 0;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const RandomModel model(9, seed);
    const auto sources = random_sources(8, 6, 9, seed);
    SearchOptions greedy;
    greedy.rules.length_offset = 4;
    greedy.rules.beam_size = 1;
    const auto wanted = search_all(model, sources, greedy);
    const auto found = search_all(model, sources, drawn(1, {.temperature = 0}));
    for (size_t i = 0; i < sources.size(); ++i) {
      if (wanted[i][0].reason != FinishReason::end_token) {
        EXPECT_EQ(found[i][0].ids, wanted[i][0].ids);
        EXPECT_EQ(found[i][0].reason, FinishReason::cut);
        continue;
      }
      expect_same(found[i], wanted[i]);
      ++compared;
    }
  }
  EXPECT_GT(compared, 10);
}

TEST(Samples, HaveTheProbabilitiesOfTheModel) {
  const RandomModel model(9, 1);
  const auto sources = random_sources(6, 6, 9, 1);
  SearchOptions options = drawn(5, {.temperature = 1.5F, .top_k = 6});
  options.rules.forced_first_token = 4;
  options.rules.normalization = ScoreNormalization::length;
  options.rules.length_penalty = 1;
  const auto found = search_all(model, sources, options);
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_TRUE(std::ranges::is_sorted(found[i], std::greater(), &Hypothesis::score));
    for (const Hypothesis& one : found[i]) {
      ASSERT_EQ(one.ids.at(0), 4);
      const auto of_each = score_targets(model, {sources[i]}, {one.ids}, 1000)[0];
      const bool ends = one.reason == FinishReason::end_token;
      const double sum = std::accumulate(of_each.begin() + 1, of_each.end() - (ends ? 0 : 1), 0.0);
      EXPECT_NEAR(one.log_probability, sum, 1e-4);
      EXPECT_NEAR(one.score, sum / static_cast<double>(one.ids.size() + (ends ? 1 : 0)), 1e-4);
    }
  }
}

/// Of many samples, each first token comes as often as it is probable, within four standard deviations.
TEST(Samples, ComeAsOftenAsTheyAreProbable) {
  const RandomModel model(9, 2);
  const Ids source{3, 4, 5, 2};
  const double count = 1000;
  std::map<int32_t, double> counts;
  for (const uint64_t seed : {1, 2, 3}) {
    const auto found = search_all(model, {source}, drawn(1000, {}, seed));
    for (const Hypothesis& one : found[0]) ++counts[one.ids.empty() ? 2 : one.ids[0]];
  }
  double all = 0;
  for (int32_t id = 2; id < 9; ++id) {
    const double probability =
        std::exp(score_targets(model, {source}, {id == 2 ? Ids{} : Ids{id}}, 1000)[0][0]);
    EXPECT_NEAR(counts[id], 3 * count * probability,
                4 * std::sqrt(3 * count * probability * (1 - probability)) + 1)
        << id;
    all += probability;
  }
  EXPECT_GT(all, 0.5);
}

TEST(Samples, DependOnTheSourceAndTheSeedAlone) {
  const RandomModel model(20, 3);
  auto sources = random_sources(12, 8, 20, 3);
  sources.push_back(sources[0]);
  const auto wanted = search_all(model, sources, drawn(5));
  EXPECT_EQ(ids_of(wanted.back()), ids_of(wanted[0]));
  EXPECT_NE(ids_of(wanted[0]), ids_of(search_all(model, sources, drawn(5, {}, 2))[0]));
  SearchOptions few = drawn(5);
  few.batch_tokens = 12;
  std::ranges::reverse(sources);
  auto found = search_all(model, sources, few);
  std::ranges::reverse(found);
  for (size_t i = 0; i < sources.size(); ++i) expect_same(found[i], wanted[i]);
  std::ranges::reverse(sources);
  const auto fewer = search_all(model, sources, drawn(3));  // are the first of more
  for (size_t i = 0; i < sources.size(); ++i)
    EXPECT_TRUE(std::ranges::includes(ids_of(wanted[i]), ids_of(fewer[i])));
}

TEST(Samples, ObeyTheRulesOfTheSearch) {
  const RandomModel model(20, 4);
  const auto sources = random_sources(20, 8, 20, 4);
  SearchOptions options = drawn(4, {.temperature = 2});
  options.rules.suppress_tokens = {5, 6};
  options.rules.min_new_tokens = 3;
  options.rules.no_repeat_ngram = 2;
  options.rules.max_new_tokens = 7;
  const auto found = search_all(model, sources, options);
  for (size_t s = 0; s < sources.size(); ++s)
    for (const Hypothesis& one : found[s]) {
      const int longest = max_output_length(options.rules, static_cast<int>(sources[s].size())) - 1;
      EXPECT_GE(one.ids.size(), 3u);
      EXPECT_LE(std::ssize(one.ids), longest);
      EXPECT_EQ(one.reason == FinishReason::cut, std::ssize(one.ids) == longest);
      std::map<std::pair<int32_t, int32_t>, int> pairs;
      for (size_t i = 0; i < one.ids.size(); ++i) {
        for (const int32_t id : {0, 1, 2, 5, 6}) EXPECT_NE(one.ids[i], id);
        if (i > 0) {
          EXPECT_EQ(++pairs[std::pair(one.ids[i - 1], one.ids[i])], 1);
        }
      }
    }
}

TEST(Samples, AreDrawnFromAShortlist) {
  const RandomModel model(20, 5);
  const auto sources = random_sources(10, 8, 20, 5);
  const Shortlist shortlist({4, 9, 11}, std::vector<std::vector<int32_t>>(20));
  SearchOptions options = drawn(4, {.top_k = 3});
  options.shortlist = &shortlist;
  const SearchRequests requests(model.config(), options);
  const auto found = search_all(model, sources, options);
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto allowed = requests.allowed(sources[i]);
    for (const Hypothesis& one : found[i]) {
      for (const int32_t id : one.ids) EXPECT_TRUE(std::ranges::binary_search(allowed, id)) << id;
      const auto of_each = score_targets(model, {sources[i]}, {one.ids}, 1000, allowed)[0];
      const int end = one.reason == FinishReason::end_token ? 0 : 1;
      EXPECT_NEAR(one.log_probability, std::accumulate(of_each.begin(), of_each.end() - end, 0.0), 1e-4);
    }
  }
}

TEST(Samples, BeginWithAPrefix) {
  const RandomModel model(20, 6);
  SearchOptions options = drawn(3);
  const SearchRequests requests(model.config(), options);
  class Sink final : public ResultSink {
   public:
    void done(size_t, const DecodeWorkspace&, std::vector<Hypothesis> best_first) override {
      found = std::move(best_first);
    }
    void failed(size_t, std::exception_ptr) noexcept override {}
    std::vector<Hypothesis> found;
  } sink;
  const Ids source{3, 4, 5, 2}, prefix{7, 8, 7};
  RequestQueue queue;
  queue.push(requests.make(source, sink, 0, {.prefix = prefix, .phrases = {}, .banned_phrases = {}}));
  RunningBatch batch(DecodeWorkspace(model), queue);
  while (batch.step()) {
  }
  ASSERT_EQ(sink.found.size(), 3u);
  for (const Hypothesis& one : sink.found) {
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), one.ids.begin()));
    const auto of_each = score_targets(model, {source}, {one.ids}, 1000)[0];
    const int end = one.reason == FinishReason::end_token ? 0 : 1;
    EXPECT_NEAR(one.log_probability, std::accumulate(of_each.begin(), of_each.end() - end, 0.0), 1e-4);
  }
  for (const LexicalConstraints& phrases :
       {LexicalConstraints{.prefix = {}, .phrases = {{4}}, .banned_phrases = {}},
        LexicalConstraints{.prefix = {}, .phrases = {}, .banned_phrases = {{4}}}})
    EXPECT_NE(error_message([&] { requests.make(source, sink, 0, phrases); }).find("no phrases"),
              std::string::npos);
  options.rules.coverage_penalty = 0.5F;
  EXPECT_NE(error_message([&] { SearchRequests(model.config(), options); }).find("coverage_penalty is 0.5"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
