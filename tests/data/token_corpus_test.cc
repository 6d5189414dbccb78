#include "data/token_corpus.h"

#include <gtest/gtest.h>

#include "error_message.h"
#include "text/whitespace.h"

namespace sixfold {
namespace {

std::vector<int32_t> list(std::span<const int32_t> ids) { return {ids.begin(), ids.end()}; }

class TokenCorpusTest : public testing::Test {
 protected:
  Tokenizers tokenizers_{load_whitespace("<unk>\n<s>\n</s>\na\nb\n", "source"),
                         load_whitespace("<s>\n</s>\n<unk>\nx\ny\n", "target"), false};
};

TEST_F(TokenCorpusTest, SourcesEndTargetsDoNot) {
  ParallelText text{{"a b", "b"}, {"y", "x x y"}};
  CorpusReport report{.read = 2};
  const TokenCorpus corpus = encode_corpus(text, tokenizers_, {}, report);
  ASSERT_EQ(corpus.size(), 2);
  EXPECT_EQ(list(corpus.source[0]), (std::vector<int32_t>{3, 4, 2}));
  EXPECT_EQ(list(corpus.target[0]), (std::vector<int32_t>{4}));
  EXPECT_EQ(list(corpus.target[1]), (std::vector<int32_t>{3, 3, 4}));
  EXPECT_EQ(corpus.target_eos, 1);
  EXPECT_EQ(corpus.tokens(0), 5);
  EXPECT_EQ(corpus.source_tokens(), 5);
  EXPECT_EQ(corpus.target_tokens(), 6);
  EXPECT_EQ(report.kept(), 2);
}

TEST_F(TokenCorpusTest, LongAndEmptyPairsAreDroppedAndCounted) {
  ParallelText text{{"a a a", "a a a a", "a", "  ", "b"}, {"x", "x", "x x x x", "x", "y"}};
  CorpusReport report{.read = 6, .empty = 1};
  const TokenCorpus corpus = encode_corpus(text, tokenizers_, {.max_length = 3}, report);
  EXPECT_EQ(corpus.size(), 2);
  EXPECT_EQ(list(corpus.source[1]), (std::vector<int32_t>{4, 2}));
  EXPECT_EQ(report.describe(), "6 pairs, 2 kept; dropped: 2 with an empty side, 2 too long");
  EXPECT_EQ(text.source, (std::vector<std::string>{"a a a", "b"}));
  EXPECT_EQ(text.target, (std::vector<std::string>{"x", "y"}));
  ParallelText too_long{{"a a"}, {"x"}};
  EXPECT_NE(
      error_message([&] { encode_corpus(too_long, tokenizers_, {.max_length = 1}, report); }).find("no pair"),
      std::string::npos);
}

TEST_F(TokenCorpusTest, ThreadsChangeNothing) {
  ParallelText text;
  for (int i = 0; i < 5000; ++i) {
    text.source.push_back(i % 7 ? "a b" : "b");
    text.target.push_back(i % 5 ? std::string(2 * (i % 11), ' ') + "x" : "y x");
  }
  CorpusReport one, four;
  const TokenCorpus a = encode_corpus(text, tokenizers_, {.threads = 1}, one);
  const TokenCorpus b = encode_corpus(text, tokenizers_, {.threads = 4}, four);
  ASSERT_EQ(a.size(), 5000);
  ASSERT_EQ(b.size(), 5000);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(list(a.source[i]), list(b.source[i]));
    ASSERT_EQ(list(a.target[i]), list(b.target[i]));
  }
}

}  // namespace
}  // namespace sixfold
