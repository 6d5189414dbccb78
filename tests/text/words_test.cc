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

}  // namespace
}  // namespace sixfold
