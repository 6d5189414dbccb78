#pragma once
#include <gtest/gtest.h>

#include "runtime/search.h"
#include "search/plain_beam_search.h"
#include "search/random_model.h"

// What tests of searches share.

namespace sixfold {

inline std::vector<std::vector<Hypothesis>> search_all(const Transformer& model,
                                                       const std::vector<Ids>& sources,
                                                       const SearchOptions& options) {
  std::vector<std::vector<Hypothesis>> results(sources.size());
  search(model, sources, options, [&](size_t index, std::vector<Hypothesis> best) {
    EXPECT_TRUE(results[index].empty()) << "source " << index << " came twice";
    results[index] = std::move(best);
  });
  return results;
}

inline void expect_same(const std::vector<Hypothesis>& got, const std::vector<Hypothesis>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].ids, expected[i].ids);
    EXPECT_NEAR(got[i].log_probability, expected[i].log_probability, 1e-4);
    EXPECT_NEAR(got[i].score, expected[i].score, 1e-4);
  }
}

/// All kinds of rules; few symbols at the most, so that the plain search is quick.
inline std::vector<SearchOptions> all_rules() {
  std::vector<SearchOptions> all;
  for (const int beam : {1, 2, 4})
    for (const auto normalization :
         {ScoreNormalization::none, ScoreNormalization::length, ScoreNormalization::gnmt})
      for (const auto end : {StoppingCriterion::best_cannot_improve, StoppingCriterion::beam_finished})
        for (const bool keeps : {false, true}) {
          SearchOptions options;
          options.rules.beam_size = beam;
          options.rules.normalization = normalization;
          options.rules.stopping_criterion = end;
          options.rules.finished_keeps_slot = keeps;
          options.rules.length_penalty = 1;
          options.rules.length_offset = 4;
          options.n_best = (beam + 1) / 2;
          all.push_back(options);
        }
  return all;
}

}  // namespace sixfold
