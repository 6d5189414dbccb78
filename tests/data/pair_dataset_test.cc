#include "data/pair_dataset.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

PairDataset two_pairs() {
  const std::vector<std::string> source{"b a", "a"}, target{"a", "c a"};
  const Tokenizers tokenizers =
      make_tokenizers({.kind = TokenizerKind::whitespace, .vocab_size = 0}, source, target);
  TokenCorpus corpus;
  for (size_t i = 0; i < source.size(); ++i) {
    auto ids = tokenizers.source->encode(source[i]);
    ids.push_back(tokenizers.source->eos());
    corpus.source.add(ids);
    corpus.target.add(tokenizers.target->encode(target[i]));
  }
  return {corpus, tokenizers, {.start = -1, .eos = tokenizers.target->eos()}, "the hash"};
}

TEST(PairDataset, CountsAndLaysOutBothSides) {
  const PairDataset data = two_pairs();
  EXPECT_EQ(data.size(), 2);
  EXPECT_EQ(data.hash(), "the hash");
  for (int32_t i = 0; i < 2; ++i) {
    BatchBuilder builder;
    data.add(i, 0, builder.sample(7));
    const Batch batch = builder.take();
    EXPECT_EQ(batch.samples, (std::vector<int32_t>{7}));
    EXPECT_EQ(batch.tokens(), data.tokens(i, 0));
    EXPECT_EQ(batch.target.ids[0], -1);
    EXPECT_EQ(batch.labels.size(), batch.target.ids.size());
  }
}

TEST(PairDataset, DescribesAPairByItsText) {
  const SampleDescription description = two_pairs().describe(1);
  EXPECT_EQ(description.kind, "pair");
  EXPECT_EQ(description.texts,
            (std::vector<std::pair<std::string, std::string>>{{"source", "a"}, {"target", "c a"}}));
}

TEST(PairDataset, HasThePartsOfItsCorpus) {
  TokenCorpus corpus;
  corpus.mixture = {{3, 1}, {4, 0.5}};
  const PairDataset data(corpus, {}, {}, "");
  EXPECT_EQ(data.size(), 7);
  EXPECT_EQ(data.parts()[1].weight, 0.5);
}

}  // namespace
}  // namespace sixfold
