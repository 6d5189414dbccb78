#include "text/sentences.h"

#include <gtest/gtest.h>

#include "error_message.h"

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

TEST(Sentences, LanguagesHaveTheirAbbreviations) {
  EXPECT_EQ(SentenceSplitter("de").split("Herr Dr. Müller kommt z.B. heute. Gut.").sentences.size(), 2u);
  EXPECT_EQ(SentenceSplitter("pt-BR").split("Olá. Tudo bem?").sentences.size(), 2u);
  for (const char* none : {"", "qqq", "en glish", "../x"})
    EXPECT_NE(error_message([&] { SentenceSplitter splitter(none); }).find("no language"), std::string::npos)
        << none;
}

}  // namespace
}  // namespace sixfold
