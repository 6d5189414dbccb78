// The coverage penalty of searches.
#include <gtest/gtest.h>

#include "error_message.h"
#include "runtime/running_batch.h"
#include "runtime/searches.h"

namespace sixfold {
namespace {

/// The coverage penalty of Wu et al. (2016) is a part of the score of what is finished, by any layer.
TEST(Search, CoverageIsThatOfThePlainBeamSearch) {
  int others = 0;  // outputs that are best because of it
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const RandomModel model(9, seed);
    const auto sources = random_sources(5, 6, 9, seed);
    for (SearchOptions options : all_rules()) {
      const auto without = search_all(model, sources, options);
      options.rules.coverage_penalty = 0.7f;
      options.rules.alignment_layer = seed % 2 == 0 ? 1 : -2;
      options.n_best = options.rules.beam_size;
      const auto results = search_all(model, sources, options);
      for (size_t i = 0; i < sources.size(); ++i) {
        expect_same(results[i], plain_beam_search(model, sources[i], options));
        others += results[i][0].ids != without[i][0].ids;
      }
    }
  }
  EXPECT_GT(others, 20);
}

/// Keeps the results of requests.
struct KeptResults final : ResultSink {
  explicit KeptResults(size_t count) : results(count) {}
  void done(size_t index, const DecodeWorkspace&, std::vector<Hypothesis> best) override {
    results[index] = std::move(best);
  }
  void failed(size_t, std::exception_ptr) noexcept override { ADD_FAILURE(); }
  std::vector<std::vector<Hypothesis>> results;
};

/// Requests of one batch may have different penalties and layers; each gets the bits that it gets alone.
TEST(Search, RequestsOfABatchHaveTheirOwnCoverage) {
  const RandomModel model(60, 10);
  const auto sources = random_sources(30, 18, 60, 6);
  std::vector<SearchOptions> kinds(3);
  for (SearchOptions& options : kinds) options.n_best = 4, options.rules.length_offset = 8;
  kinds[1].rules.coverage_penalty = 0.5f;
  kinds[2].rules.coverage_penalty = 2, kinds[2].rules.alignment_layer = 1;
  KeptResults together(sources.size());
  RequestQueue queue;
  for (size_t i = 0; i < sources.size(); ++i)
    queue.push(SearchRequests(model.config(), kinds[i % 3]).make(sources[i], together, i));
  RunningBatch batch(model, queue);
  while (batch.step() || !queue.empty()) {
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto alone = search_all(model, {sources[i]}, kinds[i % 3])[0];
    ASSERT_EQ(together.results[i].size(), alone.size());
    for (size_t j = 0; j < alone.size(); ++j) {
      EXPECT_EQ(together.results[i][j].ids, alone[j].ids);
      EXPECT_EQ(together.results[i][j].score, alone[j].score);  // to the bit
    }
  }
}

TEST(Search, CoverageNeedsALayerOfTheDecoder) {
  const RandomModel model(9, 1);
  SearchOptions options;
  options.rules.coverage_penalty = 1;
  options.rules.alignment_layer = 2;
  EXPECT_NE(error_message([&] {
              search_all(model, {{4, eos}}, options);
            }).find("the decoder has layers 0 to 1"),
            std::string::npos);
  options.rules.coverage_penalty = -1;
  EXPECT_NE(error_message([&] {
              search_all(model, {{4, eos}}, options);
            }).find("coverage_penalty"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
