#include "data/lexicon.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

/// Source symbols 3, 4, 5 mean 13, 14, 15; 16 stands in every target and means nothing.
TokenCorpus corpus() {
  TokenCorpus corpus;
  corpus.target_eos = 2;
  for (const Ids& source : {Ids{3, 4}, Ids{4, 5}, Ids{5, 3}, Ids{3}, Ids{5, 4, 3}}) {
    Ids with_end = source, target{16};
    with_end.push_back(2);
    for (const int32_t id : source) target.insert(target.begin(), id + 10);
    corpus.source.add(with_end);
    corpus.target.add(target);
  }
  return corpus;
}

TEST(Lexicon, LearnsWhatMeansWhat) {
  const auto lexicon = learn_lexicon(corpus(), 7, 20, 1, 20);
  ASSERT_EQ(lexicon.size(), 7u);
  for (const int32_t id : {3, 4, 5}) EXPECT_EQ(lexicon[static_cast<size_t>(id)], Ids{id + 10});
  for (const size_t unseen : {0, 1, 2, 6}) EXPECT_TRUE(lexicon[unseen].empty());
}

TEST(Lexicon, KeepsTheBestInTheirOrder) {
  const auto lexicon = learn_lexicon(corpus(), 7, 20, 3, 2);
  EXPECT_EQ(lexicon[4].size(), 3u);
  EXPECT_EQ(lexicon[4][0], 14);
}

TEST(Lexicon, StopsWhenItIsAsked) {
  const std::atomic<int> stop{1};
  EXPECT_THROW(learn_lexicon(corpus(), 7, 20, 3, 5, &stop), Cancelled);
}

TEST(Lexicon, FrequentTargets) {
  EXPECT_EQ(frequent_targets(corpus(), 20, 2), (Ids{2, 16}));  // the end symbol and what stands everywhere
  EXPECT_EQ(frequent_targets(corpus(), 20, 3), (Ids{2, 13, 16}));
  EXPECT_EQ(frequent_targets(corpus(), 20, 1000).size(), 20u);
}

}  // namespace
}  // namespace sixfold
