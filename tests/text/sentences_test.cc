#include "text/sentences.h"

#include <gtest/gtest.h>

#include <iostream>

#include "error_message.h"
#include "text/sentence_cases.h"

namespace sixfold {
namespace {

using Strings = std::vector<std::string>;

TEST(Sentences, AreSplitAtTheirEnds) {
  const SentenceSplitter english("en");
  const auto split = english.split(" Mr. Smith sleeps. Does he?  Yes!\tAt 3.5 p.m. he wakes… \n");
  EXPECT_EQ(split.sentences, (Strings{"Mr. Smith sleeps.", "Does he?", "Yes!", "At 3.5 p.m. he wakes…"}));
  EXPECT_EQ(split.spaces, (Strings{" ", " ", "  ", "\t", " \n"}));
  EXPECT_EQ(join_sentences(split, split.sentences),
            " Mr. Smith sleeps. Does he?  Yes!\tAt 3.5 p.m. he wakes… \n");
}

TEST(Sentences, OfNothing) {
  const SentenceSplitter english("en");
  EXPECT_TRUE(english.split("").sentences.empty());
  const auto blank = english.split(" \u3000 ");
  EXPECT_TRUE(blank.sentences.empty());
  EXPECT_EQ(blank.spaces, (Strings{" \u3000 "}));
}

TEST(Sentences, OfScriptsWithoutSpacesGetSomeWhereTheTranslationNeedsThem) {
  const auto split = SentenceSplitter("ja").split("犬が寝る。猫が走る。");
  EXPECT_EQ(split.sentences, (Strings{"犬が寝る。", "猫が走る。"}));
  EXPECT_EQ(join_sentences(split, {"The dog sleeps.", "The cat runs."}), "The dog sleeps. The cat runs.");
  EXPECT_EQ(join_sentences(split, {"狗睡觉。", "猫跑。"}), "狗睡觉。猫跑。");
}

TEST(LineBreaks, AreBehindSpacesAndBetweenWordsOfScriptsWithoutThem) {
  EXPECT_EQ(line_breaks("a dog, b"), (std::vector<size_t>{2, 7, 8}));
  EXPECT_EQ(line_breaks("犬が、"), (std::vector<size_t>{3, 9})) << "not before a comma";
  EXPECT_EQ(line_breaks("สวัสดีครับ"), (std::vector<size_t>{18, 30})) << "two words";
  EXPECT_TRUE(line_breaks("").empty());
}

/// The number of cases of a language, and the number of those that are split correctly.
std::pair<int, int> share(std::string_view language) {
  const SentenceSplitter splitter{std::string(language)};
  int cases = 0, right = 0;
  for (const SentenceCase& expected : sentence_cases) {
    if (expected.language != language) continue;
    std::string paragraph;
    for (const std::string& sentence : expected.sentences)
      paragraph += (paragraph.empty() || language == "ja" ? "" : " ") + sentence;
    const SplitParagraph split = splitter.split(paragraph);
    EXPECT_EQ(join_sentences(split, split.sentences), paragraph);
    ++cases;
    right += split.sentences == expected.sentences;
    if (split.sentences != expected.sentences)
      std::cout << "missed: " << testing::PrintToString(split.sentences) << "\n";
  }
  return {cases, right};
}

// docs/sentences.md says how many; tell it there too.
TEST(Sentences, SoManyHardCasesComeOutRight) {
  EXPECT_EQ(share("en"), std::pair(50, 48));
  EXPECT_EQ(share("de"), std::pair(29, 28));
  EXPECT_EQ(share("ja"), std::pair(12, 11));
}

TEST(Sentences, LineEndsEndThem) {
  EXPECT_EQ(SentenceSplitter("en").split("a heading\nDr.\nthe text").sentences,
            (Strings{"a heading", "Dr.", "the text"}));
}

TEST(Sentences, LongQuotationsArePartedWithin) {
  std::string quotation = "「";
  for (int i = 0; i < 100; ++i) quotation += "犬が寝る。";
  EXPECT_EQ(SentenceSplitter("ja").split(quotation + "」と言った。").sentences.size(), 100u);
}

TEST(Sentences, OddTextIsNoHarm) {
  for (const char* language : {"en", "de", "ja", "fr"}) {
    const SentenceSplitter splitter(language);
    for (const char* text :
         {".", "...", ". . .", "。」", "」。「",   "1.",       "1)",      "a.",   "• •",  "\xFF. \xFE",
          "(", "A.",  "\"",    ". A",  "1. 2. 3.", "1) 2) 3)", "!!! !!!", "„“ “", "\n\n", "I. I. I."}) {
      const auto split = splitter.split(text);
      EXPECT_EQ(join_sentences(split, split.sentences), text);
    }
  }
}

TEST(Sentences, LanguagesHaveTheirAbbreviations) {
  EXPECT_EQ(SentenceSplitter("de").split("Herr Dr. Müller kommt z.B. heute. Gut.").sentences.size(), 2u);
  EXPECT_EQ(SentenceSplitter("pt-BR").split("Olá. Tudo bem?").sentences.size(), 2u);
  for (const char* none : {"", "qqq", "en glish", "../x"})
    EXPECT_NE(error_message([&] { SentenceSplitter splitter(none); }).find("unknown language"),
              std::string::npos)
        << none;
}

/// A megabyte of each of these would take minutes or hours if the work at a place grew with the text before or
/// after it.
TEST(Sentences, TakeTimeInProportionToTheirLength) {
  constexpr size_t bytes = 1'000'000;
  for (const char* language : {"en", "de", "ja"}) {
    const SentenceSplitter splitter(language);
    for (const std::string unit : {"漢.", "a\t", "1.\t", "（あ。）い", "a.\u2028", "\u2028(", "\u2028", "「",
                                   "A. ", "z. B. ", ". ", "a.b "}) {
      std::string text;
      while (text.size() < bytes) text += unit;
      const SplitParagraph split = splitter.split(text);
      size_t size = split.spaces[0].size();
      for (size_t i = 0; i < split.sentences.size(); ++i)
        size += split.sentences[i].size() + split.spaces[i + 1].size();
      EXPECT_EQ(size, text.size()) << unit;
    }
  }
}

}  // namespace
}  // namespace sixfold
