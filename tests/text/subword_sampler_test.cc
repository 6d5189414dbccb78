#include "text/subword_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "error_message.h"
#include "text/sample_text.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

std::shared_ptr<const Tokenizer> tokenizer_of(PieceModel model, const std::vector<std::string>& text,
                                              int size = 90) {
  TokenizerOptions options;
  options.model = model;
  options.vocab_size = size;
  return make_tokenizers(options, text, text).source;
}

Ids sampled(const SubwordSampler& sampler, const Ids& ids, double rate, uint64_t seed) {
  RandomStream random(seed, 1);
  return sampler.sample(ids, rate, random);
}

/// With no merge left out, and with the likeliest segmentations alone, they are those of SentencePiece. Some
/// words of unigram models have two that are equally likely.
TEST(SubwordSampler, AtItsLimitsIsTheUsualSegmentation) {
  for (const auto& text : {sample::english(), sample::german(), sample::japanese()})
    for (const auto& [model, rate] : {std::pair(PieceModel::bpe, 0.0), std::pair(PieceModel::unigram, 1e4)}) {
      const auto tokenizer = tokenizer_of(model, text);
      const SubwordSampler sampler(*tokenizer);
      size_t equal = 0;
      for (const std::string& line : text)
        equal += sampled(sampler, tokenizer->encode(line), rate, 1) == tokenizer->encode(line);
      EXPECT_GE(equal, model == PieceModel::bpe ? text.size() : text.size() * 3 / 4);
    }
}

TEST(SubwordSampler, WithoutMergesThereAreCharacters) {
  const auto tokenizer = tokenizer_of(PieceModel::bpe, sample::german());
  const SubwordSampler sampler(*tokenizer);
  std::string pieces;
  for (const int32_t id : sampled(sampler, tokenizer->encode("Ein Mann übermalt"), 1, 1))
    pieces += tokenizer->token_text(id) + " ";
  EXPECT_EQ(pieces, "▁ E i n ▁ M a n n ▁ ü b e r m a l t ");
}

TEST(SubwordSampler, TheTextStaysAndTheSegmentationDiffers) {
  for (const PieceModel model : {PieceModel::bpe, PieceModel::unigram}) {
    const auto tokenizer = tokenizer_of(model, sample::english());
    const SubwordSampler sampler(*tokenizer);
    const double rate = model == PieceModel::bpe ? 0.1 : 0.2;
    int others = 0;
    for (const std::string& line : sample::english())
      for (uint64_t seed = 1; seed < 6; ++seed) {
        const Ids usual = tokenizer->encode(line), ids = sampled(sampler, usual, rate, seed);
        EXPECT_EQ(tokenizer->decode(ids), line);
        EXPECT_EQ(ids, sampled(sampler, usual, rate, seed));
        others += ids != usual;
      }
    EXPECT_GT(others, 100);
  }
}

/// With an exponent of 0 all segmentations are equally likely, and with twice the exponent the ratios of their
/// probabilities are the squares.
TEST(SubwordSampler, UnigramSegmentationsHaveTheirProbabilities) {
  const auto tokenizer = tokenizer_of(PieceModel::unigram, sample::english());
  const SubwordSampler sampler(*tokenizer);
  const Ids usual = tokenizer->encode("house");
  const auto frequencies = [&](double rate) {
    std::map<Ids, double> shares;
    RandomStream random(3, 1);
    constexpr int draws = 40'000;
    for (int i = 0; i < draws; ++i) shares[sampler.sample(usual, rate, random)] += 1.0 / draws;
    return shares;
  };
  const auto even = frequencies(0), half = frequencies(0.1), once = frequencies(0.2);
  for (const auto& [ids, share] : even)
    EXPECT_NEAR(share * static_cast<double>(even.size()), 1, 0.35) << even.size();
  double sum = 0;
  for (const auto& [ids, share] : half) sum += share * share;
  for (const auto& [ids, share] : half)
    if (share > 0.05) {
      EXPECT_NEAR(share * share / sum, once.at(ids), 0.02);
    }
}

TEST(SubwordSampler, WhatIsNoNormalPieceStays) {
  const auto tokenizer = tokenizer_of(PieceModel::bpe, sample::english());
  const SubwordSampler sampler(*tokenizer);
  Ids ids = tokenizer->encode("A man");
  ids.insert(ids.begin() + 1, tokenizer->unk());
  ids.insert(ids.begin(), tokenizer->bos());
  ids.push_back(tokenizer->eos());
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Ids found = sampled(sampler, ids, 0.5, seed);
    EXPECT_EQ(found.front(), tokenizer->bos());
    EXPECT_EQ(found.back(), tokenizer->eos());
    EXPECT_EQ(std::ranges::count(found, tokenizer->unk()), 1);
  }
  EXPECT_TRUE(sampled(sampler, {}, 0.5, 1).empty());
}

/// The time for a word of BPE grows with the square of its length.
TEST(SubwordSampler, VeryLongWordsStay) {
  const std::string text(100'000, 'a');
  const auto bpe = tokenizer_of(PieceModel::bpe, {"a aa aaa aaaa b"}, 12);
  const auto ids = bpe->encode(text);
  EXPECT_EQ(sampled(SubwordSampler(*bpe), ids, 0.5, 1), ids);
  const auto unigram = tokenizer_of(PieceModel::unigram, {"a aa aaa aaaa b"}, 12);
  EXPECT_EQ(unigram->decode(sampled(SubwordSampler(*unigram), unigram->encode(text), 0.5, 1)), text);
}

TEST(SubwordSampler, OtherTokenizersAreRefused) {
  const std::vector<std::string> text{"a b"};
  const auto words = make_tokenizers({.kind = TokenizerKind::whitespace, .vocab_size = 0}, text, text);
  EXPECT_NE(
      error_message([&] { SubwordSampler{*words.source}; }).find("data.subword_sampling: only tokenizers"),
      std::string::npos);
}

}  // namespace
}  // namespace sixfold
