#include "search/scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "error_message.h"
#include "search/plain_beam_search.h"
#include "search/random_model.h"

namespace sixfold {
namespace {

constexpr int vocab = 30;

class ScorerTest : public testing::Test {
 protected:
  void enter(int request, const Ids& source, const Ids& shortlist = {}) {
    IdBatch sources;
    sources.add(source);
    const std::span<const int32_t> ids = shortlist;
    scorer_->enter({&request, 1}, sources, {&ids, 1});
  }
  /// The likeliest tokens of a distribution among `of`, but for some.
  static Ids best(const std::vector<double>& log_probs, Ids of, const Ids& banned) {
    std::erase_if(of, [&](int32_t id) { return std::count(banned.begin(), banned.end(), id) > 0; });
    std::stable_sort(of.begin(), of.end(), [&](int32_t a, int32_t b) {
      return log_probs[static_cast<size_t>(a)] > log_probs[static_cast<size_t>(b)];
    });
    return of;
  }
  static Ids all() {
    Ids ids;
    for (int32_t id = 0; id < vocab; ++id) ids.push_back(id);
    return ids;
  }

  RandomModel model_{vocab, 5};
  DecodeWorkspace workspace_{model_};
  std::unique_ptr<Scorer> scorer_ = make_scorer(workspace_);
};

/// A prompt of several tokens beside a single one; each row's own query.
TEST_F(ScorerTest, AnswersWhatEachAsks) {
  const Ids source{4, 5, 6, eos}, prompt{ModelConfig::zero_start, 7, 8}, start{ModelConfig::zero_start};
  enter(0, source);
  enter(1, source);
  const Ids banned{9, 3}, listed{eos, 9};
  const std::array extensions{Extension{1, 0, prompt}, Extension{0, 0, start}};
  const std::array queries{Query{.top_k = 3, .banned = banned, .listed = listed},
                           Query{.top_k = 2, .banned = banned, .renormalize = true}};
  const auto answers = scorer_->score(extensions, queries);
  ASSERT_EQ(answers.size(), 2u);
  const auto after = next_symbols(model_, source, {7, 8}), first = next_symbols(model_, source, {});
  const Ids expected = best(after, all(), banned);
  ASSERT_EQ(answers[0].ids.size(), 5u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answers[0].ids[i], expected[i]);
    EXPECT_NEAR(answers[0].log_probs[i], after[static_cast<size_t>(expected[i])], 1e-4);
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(answers[0].ids[3 + i], listed[i]);
    EXPECT_NEAR(answers[0].log_probs[3 + i], after[static_cast<size_t>(listed[i])], 1e-4);  // banned or not
  }
  double left = 0;
  for (const int32_t id : best(first, all(), banned)) left += std::exp(first[static_cast<size_t>(id)]);
  const int32_t likeliest = best(first, all(), banned)[0];
  EXPECT_EQ(answers[1].ids[0], likeliest);
  EXPECT_NEAR(answers[1].log_probs[0], first[static_cast<size_t>(likeliest)] - std::log(left), 1e-4);
}

/// A prefix: the log-probabilities of its tokens, and those of listed tokens behind it.
TEST_F(ScorerTest, AnswersForGivenTokensAndUnderARenormalization) {
  const Ids source{4, 5, 6, eos}, prefix{ModelConfig::zero_start, 7, 8, 20}, start{ModelConfig::zero_start};
  enter(0, source);
  enter(1, source);
  const Ids banned{9, 3}, listed{3, 4, 11, eos};
  const std::array extensions{Extension{1, 0, prefix}, Extension{0, 0, start}};
  const std::array queries{Query{.top_k = 1, .given = 3},
                           Query{.top_k = 2, .banned = banned, .renormalize = true, .listed = listed}};
  const auto answers = scorer_->score(extensions, queries);
  ASSERT_EQ(answers[0].given.size(), 3u);
  EXPECT_TRUE(answers[1].given.empty());
  for (size_t i = 0; i < 3; ++i) {
    const Ids before(prefix.begin() + 1, prefix.begin() + 1 + static_cast<std::ptrdiff_t>(i));
    EXPECT_NEAR(answers[0].given[i], next_symbols(model_, source, before)[static_cast<size_t>(prefix[i + 1])],
                1e-4);
  }
  auto first = next_symbols(model_, source, {});
  renormalize(first, {banned.begin(), banned.end()});
  ASSERT_EQ(answers[1].ids.size(), 6u);
  EXPECT_EQ(answers[1].log_probs[2], -INFINITY);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_NEAR(answers[1].log_probs[2 + i], first[static_cast<size_t>(listed[i])], 1e-4);
  const Query too_many{.top_k = 1, .given = 1};
  EXPECT_NE(error_message([&] {
              scorer_->score({&extensions[1], 1}, {&too_many, 1});
            }).find("1 tokens are given"),
            std::string::npos);
}

TEST_F(ScorerTest, AShortlistIsARequestsOwn) {
  const Ids source{4, 5, eos}, start{ModelConfig::zero_start}, few{2, 5, 9, 11, 20}, banned{9};
  enter(0, source);
  enter(1, source, few);
  const std::array extensions{Extension{0, 0, start}, Extension{1, 0, start}};
  const Query query{.top_k = 3, .banned = banned};
  const std::array queries{query, query};
  const auto answers = scorer_->score(extensions, queries);
  const auto after = next_symbols(model_, source, {});
  const Ids whole = best(after, all(), banned);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(answers[0].ids[i], whole[i]);
  const Ids expected = best(after, few, banned);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(answers[1].ids[i], expected[i]);
}

/// The answers about several tokens of an extension are those about each of them, bit for bit.
TEST_F(ScorerTest, AnswersAboutSeveralTokensOfAnExtension) {
  const Ids source{4, 5, 6, eos}, tokens{ModelConfig::zero_start, 7, 8, 9, 7, 8, 9, 10};
  for (const int request : {0, 1, 2}) enter(request, source);
  const Ids banned{9};
  const std::array<DrawOptions, 1> options;
  const DrawQuery draw{.options = options.data(), .before = {}, .uniform = 0.4, .likeliest = 2};
  const Query query{.banned = banned, .draw = &draw};
  std::vector<Ids> ids;
  std::vector<std::vector<float>> log_probs;
  for (const int32_t& token : tokens) {
    const Extension extension{1, 0, {&token, 1}};
    const auto answers = scorer_->score({&extension, 1}, {&query, 1});
    ids.emplace_back(answers[0].ids.begin(), answers[0].ids.end());
    log_probs.emplace_back(answers[0].log_probs.begin(), answers[0].log_probs.end());
  }
  const std::array extensions{Extension{2, 0, std::span(tokens).first(1)}, Extension{0, 0, tokens}};
  std::vector<Query> queries(6, query);
  for (size_t i = 0; i < 5; ++i) queries[1 + i].tokens_behind = 4 - i;
  const auto answers = scorer_->score(extensions, queries);
  ASSERT_EQ(answers.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const size_t place = i == 0 ? 0 : 2 + i;
    EXPECT_TRUE(std::ranges::equal(answers[i].ids, ids[place])) << i;
    EXPECT_TRUE(std::ranges::equal(answers[i].log_probs, log_probs[place])) << i;
  }
}

TEST_F(ScorerTest, RefusesQueriesThatDoNotFit) {
  const Ids tokens{ModelConfig::zero_start, 7};
  const std::array extensions{Extension{0, 0, tokens}, Extension{1, 0, tokens}};
  const auto refuse = [&](const std::vector<size_t>& behind, const std::string& part) {
    std::vector<Query> queries;
    for (const size_t tokens_behind : behind) queries.push_back({.tokens_behind = tokens_behind, .top_k = 1});
    EXPECT_NE(error_message([&] { places_of(extensions, queries); }).find(part), std::string::npos);
  };
  refuse({0}, "no queries for them");
  refuse({2, 1, 0, 0}, "no queries for them");
  refuse({1, 1, 0}, "not in order");
  refuse({1, 0, 1}, "no queries for them");
  refuse({0, 0, 0}, "3 queries, but the extensions have 2");
}

TEST_F(ScorerTest, RefusesTokensThatThereAreNot) {
  enter(0, {4, 5, eos});
  const Ids start{ModelConfig::zero_start};
  const Extension extension{0, 0, start};
  for (const int32_t token : {-1, vocab}) {
    const Ids tokens{token};
    for (const Query& query : {Query{.top_k = 2, .banned = tokens}, Query{.listed = tokens}})
      EXPECT_NE(error_message([&] {
                  scorer_->score({&extension, 1}, {&query, 1});
                }).find("not in the vocabulary"),
                std::string::npos);
  }
}

}  // namespace
}  // namespace sixfold
