#include "text/words.h"

#include <gtest/gtest.h>

#include "text/sentences.h"

namespace sixfold {
namespace {

TEST(Words, AreSeparatedByWhiteSpaceOfAllScripts) {
  EXPECT_EQ(word_ranges("  one two\t three "), (std::vector<TextRange>{{2, 5}, {6, 9}, {11, 16}}));
  EXPECT_EQ(count_words("a\u00A0b\u3000c\u2003d\n"), 4u);  // no-break, ideographic and em space
  EXPECT_EQ(count_words(""), 0u);
  EXPECT_EQ(count_words(" \u00A0\n"), 0u);
  EXPECT_EQ(count_words("\xFF\xC3 \xE3\x80"), 2u);  // not valid UTF-8
}

TEST(Words, BeginsOfJoinedSentencesAreKnown) {
  const SplitParagraph split{{"A.", "B.", "C."}, {" ", "  ", "", "\n"}};
  std::vector<size_t> begins;
  EXPECT_EQ(join_sentences(split, {"one", "two", "three"}, &begins), " one  two three\n");
  EXPECT_EQ(begins, (std::vector<size_t>{1, 6, 10}));
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (const TextRange& part : word_parts(text))
    parts.push_back(text.substr(part.begin, part.end - part.begin));
  return parts;
}

TEST(WordParts, DivideScriptsWithoutSpaces) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(parts_of("彼は東京に行く。"), (Parts{"彼", "は", "東京", "に", "行く", "。"}));
  EXPECT_EQ(parts_of("我喜欢 苹果。"), (Parts{"我", "喜欢", "苹果", "。"}));
  EXPECT_EQ(parts_of("ฉันรักแมว"), (Parts{"ฉัน", "รัก", "แมว"}));
  EXPECT_EQ(parts_of("それはiPhone-15です"), (Parts{"それ", "は", "iPhone-15", "です"}));
  EXPECT_EQ(parts_of("メンバー5人"), (Parts{"メンバー", "5", "人"}));
  EXPECT_EQ(parts_of(""), Parts{});
}

TEST(WordParts, AreTheWordsOfOtherScripts) {
  for (const std::string text : {"It's well-known, (isn't it)? 3,5% x@y.de", "Zoë\u3000\U0001F600ok",
                                 "나는 학생입니다.", "это что-то", "\xFF\xC3 \xE3\x80", " "})
    EXPECT_EQ(word_parts(text), word_ranges(text)) << text;
}

TEST(Words, OfLettersAreRunsOfThem) {
  EXPECT_EQ(words_of_letters(" ab, c-3.\xFF"), (std::vector<TextRange>{{1, 3}, {5, 6}, {7, 8}}));
  EXPECT_TRUE(words_of_letters("... ").empty());
}

TEST(Words, OfPhrasesAreRunsOfLettersOrSingleCharacters) {
  const auto words = [](const std::string& text) {
    std::vector<std::string> found;
    for (const TextRange& word : phrase_words(text))
      found.push_back(text.substr(word.begin, word.end - word.begin));
    return found;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words(" It's a\u0301b, 3%\t"), (Words{"It", "'", "s", "a\u0301b", ",", "3", "%"}));
  EXPECT_EQ(words("\u6771\u4EAC a\u200Cb \u2764\uFE0Fa"),
            (Words{"\u6771", "\u4EAC", "a\u200Cb", "\u2764\uFE0F", "a"}));
  EXPECT_EQ(words(" \u0301a \xFF"), (Words{"\u0301a", "\xFF"}));
  EXPECT_TRUE(words(" \u3000 ").empty());
}

TEST(WordParts, OfAnIllFormedTextCoverIt) {
  const std::string text = "\xE6\x97東京\xFFに\x80";
  const std::vector<TextRange> parts = word_parts(text);
  EXPECT_EQ(parts.front().begin, 0u);
  EXPECT_EQ(parts.back().end, text.size());
  for (size_t i = 1; i < parts.size(); ++i) EXPECT_EQ(parts[i].begin, parts[i - 1].end);
}

}  // namespace
}  // namespace sixfold
