#include "metrics/bleu_tokenizers.h"

#include <gtest/gtest.h>

#include "error_message.h"
#include "metrics/bleu.h"
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

/// The error in sacreBLEU's ranges is reproduced: U+2603 is in one of them, and U+20000 in none.
TEST(BleuTokenizers, ChineseIsCutIntoCharacters) {
  EXPECT_EQ(tokens("我有3.5个apple。", BleuTokenizer::chinese), "我 有 3.5 个 apple 。");
  EXPECT_EQ(tokens(" \u2603x\U00020000y", BleuTokenizer::chinese), "\u2603 x\U00020000y");
}

const std::string spm_model = SIXFOLD_SOURCE_DIR "/tests/compatibility/0.2.0/models/translation/tokenizer.spm";

TEST(BleuTokenizers, SpmHasThePiecesOfTheModel) {
  const auto tokenizer = load_spm_tokenizer(spm_model);
  for (const auto& item : metric_goldens()["spm"])
    EXPECT_EQ(encode_utf8(tokenizer->tokenize(decode_utf8(item[0].get<std::string>()))), item[1]);
  EXPECT_TRUE(tokenizer->signature().starts_with("spm-")) << tokenizer->signature();
  EXPECT_EQ(tokenizer->tokenize(U""), U"");
  const Bleu bleu({.tokenizer = BleuTokenizer::spm, .spm_model = spm_model});
  const std::vector<std::string> reference{"one two three four"};
  EXPECT_DOUBLE_EQ(score_of_output(bleu, reference[0], reference), 100);
  EXPECT_NE(bleu.settings().find(fmt::format("|tok:{}|", tokenizer->signature())), std::string::npos);
}

TEST(BleuTokenizers, SpmNeedsAModel) {
  const auto load = [](const std::string& path) { load_spm_tokenizer(path); };
  EXPECT_NE(error_message([&] { load("nowhere.spm"); }).find("nowhere.spm"), std::string::npos);
  EXPECT_NE(error_message([&] { load(SIXFOLD_TEST_GOLDENS "/metrics.json"); }).find("metrics.json"),
            std::string::npos);
  EXPECT_NE(error_message([] { Bleu({.tokenizer = BleuTokenizer::spm}); }).find("spm needs a model"),
            std::string::npos);
  EXPECT_NE(error_message([] { Bleu({.spm_model = spm_model}); }).find("13a has no model"), std::string::npos);
}

TEST(BleuTokenizers, MecabFindsWordsAsSacreBleuDoes) {
  std::shared_ptr<const ModelTokenizer> tokenizer;
  try {
    tokenizer = load_mecab_tokenizer();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("install MeCab and its dictionary (Debian: libmecab2"),
              std::string::npos);
    GTEST_SKIP() << error.what();
  }
  for (const auto& item : metric_goldens()["mecab"])
    EXPECT_EQ(encode_utf8(tokenizer->tokenize(decode_utf8(item[0].get<std::string>()))), item[1]);
  EXPECT_EQ(tokenizer->signature(), metric_goldens()["mecab_signature"]);
  EXPECT_EQ(tokenizer->tokenize(U""), U"");
}

TEST(BleuTokenizers, EmptyAndBlankSentencesHaveNoWords) {
  for (const auto& [tokenizer, name] : EnumNames<BleuTokenizer>::names) {
    if (tokenizer == BleuTokenizer::ja_mecab || tokenizer == BleuTokenizer::spm) continue;  // see above
    EXPECT_EQ(tokens("", tokenizer), "") << name;
    EXPECT_EQ(tokens(" \t\u2003", tokenizer), "") << name;
  }
}

}  // namespace
}  // namespace sixfold
