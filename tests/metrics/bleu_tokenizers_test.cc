#include "metrics/bleu_tokenizers.h"

#include <gtest/gtest.h>

#include "metrics/metric_goldens.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

std::string tokens(std::string_view sentence, BleuTokenizer tokenizer) {
  return encode_utf8(tokenize(decode_utf8(sentence), tokenizer));
}

TEST(BleuTokenizers, CutAsSacreBleuDoes) {
  int compared = 0;
  for (const auto& item : metric_goldens()["tokenized"]) {
    const std::string sentence = item[0];
    for (const auto& [tokenizer, name] : EnumNames<BleuTokenizer>::names) {
      if (!item[1].contains(name)) continue;
      EXPECT_EQ(tokens(sentence, tokenizer), item[1][std::string(name)]) << name << " of " << sentence;
      ++compared;
    }
  }
  EXPECT_GT(compared, 400);
}

TEST(BleuTokenizers, V13aKeepsNumbersWhole) {
  EXPECT_EQ(tokens("It costs 1,234.50, or 7.", BleuTokenizer::v13a), "It costs 1,234.50 , or 7 .");
  EXPECT_EQ(tokens("a well-known 5-door", BleuTokenizer::v13a), "a well-known 5 - door");
}

TEST(BleuTokenizers, V13aResolvesEntitiesInTurn) {
  EXPECT_EQ(tokens("&quot;a&quot; &amp;lt; b", BleuTokenizer::v13a), "\" a \" < b");
}

TEST(BleuTokenizers, V13aJoinsLinesAtHyphens) {
  EXPECT_EQ(tokens("hyphen-\nated\nline", BleuTokenizer::v13a), "hyphenated line");
}

TEST(BleuTokenizers, InternationalLeavesALastDotAtItsNumber) {
  EXPECT_EQ(tokens("in 1999.", BleuTokenizer::international), "in 1999.");
  EXPECT_EQ(tokens("in May. \u3000", BleuTokenizer::international), "in May .");
  EXPECT_EQ(tokens("„gut“ 5€", BleuTokenizer::international), "„ gut “ 5 €");
}

TEST(BleuTokenizers, NoneSplitsAtWhiteSpaceAlone) {
  EXPECT_EQ(tokens(" a,b \u00a0\x1c c. ", BleuTokenizer::none), "a,b c.");
}

TEST(BleuTokenizers, EmptyAndBlankSentencesHaveNoWords) {
  for (const auto& [tokenizer, name] : EnumNames<BleuTokenizer>::names) {
    EXPECT_EQ(tokens("", tokenizer), "") << name;
    EXPECT_EQ(tokens(" \t\u2003", tokenizer), "") << name;
  }
}

}  // namespace
}  // namespace sixfold
