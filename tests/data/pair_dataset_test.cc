#include "data/pair_dataset.h"

#include <gtest/gtest.h>

#include "text/sample_text.h"

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

/// The labels and the end of the source stay, and each epoch and side loses other tokens.
TEST(PairDataset, LosesTokensInTraining) {
  const std::vector<std::string> text{"a b c d e f"};
  const Tokenizers tokenizers =
      make_tokenizers({.kind = TokenizerKind::whitespace, .vocab_size = 0}, text, text);
  std::vector<int32_t> target;
  for (int i = 0; i < 100; ++i)
    target.push_back(tokenizers.target->encode(text[0])[static_cast<size_t>(i % 6)]);
  std::vector<int32_t> source = target;
  source.push_back(tokenizers.source->eos());
  TokenCorpus corpus;
  corpus.source.add(source), corpus.target.add(target);
  const PairDataset data(corpus, tokenizers, {.start = -1, .eos = tokenizers.target->eos()}, "", {.rate = 0.2});
  const auto batch_of = [&](int64_t epoch) {
    BatchBuilder builder;
    data.add(0, epoch, builder.sample(0));
    return builder.take();
  };
  const int32_t unk = tokenizers.source->unk();
  int64_t lost_of_source = 0, lost_of_target = 0, lost_together = 0;
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    const Batch batch = batch_of(epoch);
    ASSERT_EQ(batch.source.ids.size(), 101u);
    EXPECT_EQ(batch.source.ids.back(), tokenizers.source->eos());
    EXPECT_EQ(batch.target.ids[0], -1);
    EXPECT_TRUE(std::equal(target.begin(), target.end(), batch.labels.begin()));
    for (size_t i = 0; i < 100; ++i) {
      const int32_t read = batch.source.ids[i], input = batch.target.ids[i + 1];
      EXPECT_TRUE(read == source[i] || read == unk);
      EXPECT_TRUE(input == target[i] || input == unk);
      lost_of_source += read == unk, lost_of_target += input == unk,
          lost_together += read == unk && input == unk;
    }
  }
  EXPECT_NEAR(static_cast<double>(lost_of_source) / 10'000, 0.2, 0.02);
  EXPECT_NEAR(static_cast<double>(lost_of_target) / 10'000, 0.2, 0.02);
  EXPECT_NEAR(static_cast<double>(lost_together) / 10'000, 0.04, 0.01);
  EXPECT_EQ(batch_of(3).source.ids, batch_of(3).source.ids);
  EXPECT_NE(batch_of(3).source.ids, batch_of(4).source.ids);
}

/// Both sides keep their texts; the tokens that are counted are those of the usual segmentation.
TEST(PairDataset, SegmentsItsTextsAnew) {
  const std::vector<std::string> source = sample::english(), target = sample::german();
  TokenizerOptions options;
  options.vocab_size = 90;
  options.joint = false;
  const Tokenizers tokenizers = make_tokenizers(options, source, target);
  TokenCorpus corpus;
  for (size_t i = 0; i < 4; ++i) {
    auto ids = tokenizers.source->encode(source[i]);
    ids.push_back(tokenizers.source->eos());
    corpus.source.add(ids), corpus.target.add(tokenizers.target->encode(target[i]));
  }
  const TargetEnds ends{.start = -1, .eos = tokenizers.target->eos()};
  const PairDataset data(corpus, tokenizers, ends, "", {}, {}, {.rate = 0.2, .max_tokens = 100}),
      plain(corpus, tokenizers, ends, ""), short_ones(corpus, tokenizers, ends, "", {}, {}, {.rate = 0.2});
  const auto batch_of = [](const PairDataset& from, int64_t sample, int64_t epoch) {
    BatchBuilder builder;
    from.add(sample, epoch, builder.sample(0));
    return builder.take();
  };
  int others = 0;
  for (int64_t sample = 0; sample < 4; ++sample)
    for (int64_t epoch = 0; epoch < 10; ++epoch) {
      const Batch batch = batch_of(data, sample, epoch), usual = batch_of(plain, sample, epoch);
      EXPECT_EQ(data.tokens(sample, epoch), plain.tokens(sample, epoch));
      EXPECT_EQ(tokenizers.source->decode(batch.source.ids), source[static_cast<size_t>(sample)]);
      EXPECT_EQ(tokenizers.target->decode(batch.labels), target[static_cast<size_t>(sample)]);
      EXPECT_EQ(batch.source.ids.back(), tokenizers.source->eos());
      EXPECT_TRUE(std::equal(batch.labels.begin(), batch.labels.end() - 1, batch.target.ids.begin() + 1));
      others += batch.source.ids != usual.source.ids;
      EXPECT_LE(batch_of(short_ones, sample, epoch).tokens(), plain.tokens(sample, epoch));
    }
  EXPECT_GT(others, 20);
}

/// The token that selects the target language is never lost.
TEST(PairDataset, KeepsTheLanguageToken) {
  const std::vector<std::string> text{">>deu<< a b c"};
  const Tokenizers tokenizers =
      make_tokenizers({.kind = TokenizerKind::whitespace, .vocab_size = 0}, text, text);
  TokenCorpus corpus;
  std::vector<int32_t> source = tokenizers.source->encode(text[0]);
  corpus.target.add(source);
  source.push_back(tokenizers.source->eos());
  corpus.source.add(source);
  const PairDataset data(corpus, tokenizers, {.start = -1, .eos = tokenizers.target->eos()}, "", {.rate = 0.9});
  bool lost = false;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    BatchBuilder builder;
    data.add(0, epoch, builder.sample(0));
    const Batch batch = builder.take();
    EXPECT_EQ(batch.source.ids[0], source[0]);
    lost = lost || batch.source.ids[1] == tokenizers.source->unk();
  }
  EXPECT_TRUE(lost);
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
