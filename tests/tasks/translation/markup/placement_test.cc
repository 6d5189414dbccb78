#include <gtest/gtest.h>

#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {
namespace {

/// Translates a text with elements to `translation`, by this word alignment.
std::string placed(const std::string& html, const std::string& translation,
                   const std::vector<std::pair<int, int>>& alignment) {
  return translate_html(html, [&](const std::vector<std::string>& texts) {
    return std::vector<TranslatedText>(texts.size(), {translation, alignment});
  });
}

TEST(Placement, AStrayPairDoesNotSpreadAnElement) {
  EXPECT_EQ(placed("see <a>the page</a> of the old town", "A B C D E F",
                   {{1, 0}, {0, 1}, {3, 2}, {1, 4}, {2, 5}, {5, 3}}),
            "A B C D <a>E F</a>");
}

TEST(Placement, WordsThatAreAlignedToNoneLieWithinAnElement) {
  EXPECT_EQ(placed("<a>one two</a> x", "A B C D", {{0, 0}, {1, 2}, {2, 3}}), "<a>A B C</a> D");
  // One word of another is as many as its own beyond it, and is covered; two are not.
  EXPECT_EQ(placed("<a>one two</a> x", "A B C", {{0, 0}, {2, 1}, {1, 2}}), "<a>A B C</a>");
  EXPECT_EQ(placed("<a>one two</a> x", "A B C D", {{0, 0}, {2, 1}, {2, 2}, {1, 3}}), "<a>A</a> B C D");
}

TEST(Placement, ElementsSideBySideShareNoWord) {
  EXPECT_EQ(placed("<a>one two</a> <b>three</b> x", "A B C D", {{0, 0}, {2, 1}, {1, 2}, {3, 3}}),
            "<a>A</a> <b>B</b> C D");
  EXPECT_EQ(placed("<b>on</b><i>e</i> x", "A B", {{0, 0}, {1, 1}}), "<b>A</b><i></i> B");
  EXPECT_EQ(placed("<b>one</b> <i>two</i> x", "A B", {{0, 0}, {1, 0}, {2, 1}}), "<b>A</b><i></i> B");
}

TEST(Placement, ElementsRemainInTheirElements) {
  EXPECT_EQ(placed("<a>one <b>two</b></a> x", "A B C", {{1, 0}, {2, 1}, {0, 2}}), "<a><b>A</b> B C</a>");
  EXPECT_EQ(placed("<a>one <b>two</b></a> x y z", "A B C D E", {{1, 0}, {2, 1}, {3, 2}, {4, 3}, {0, 4}}),
            "<a><b>A</b></a> B C D E");
}

TEST(Placement, PunctuationBesideAnElementStaysBesideIt) {
  EXPECT_EQ(placed("see <a>it</a>.", "it. see", {{0, 1}, {1, 0}}), "<a>it</a>. see");
  EXPECT_EQ(placed("x (<a>it</a>), y", "Y (it), X", {{0, 2}, {1, 1}, {2, 0}}), "Y (<a>it</a>), X");
  EXPECT_EQ(placed("x <a>\"it\"</a>. y", "\"It\". X Y", {{0, 1}, {1, 0}, {2, 2}}), "<a>\"It\"</a>. X Y");
  EXPECT_EQ(placed("x <a>it.</a> y", "It. X Y", {{0, 1}, {1, 0}, {2, 2}}), "<a>It.</a> X Y");
  EXPECT_EQ(placed("x <a>it</a>!", "\u5b83\u3002", {{0, 0}, {1, 0}}), "<a>\u5b83</a>\u3002");
  EXPECT_EQ(placed("one<b>.</b> x", "A. X", {{0, 0}, {1, 1}}), "A.<b></b> X");
}

TEST(Placement, TheEndOfASentenceThatMovesBehindAnElementStaysOutside) {
  const std::vector<std::pair<int, int>> turned{
      {0, 1}, {1, 2}, {2, 0}, {2, 2}};  // "sees." is aligned to "Hund."
  EXPECT_EQ(placed("the <b>dog</b> sees.", "Sieht der Hund.", turned), "Sieht der <b>Hund</b>.");
  EXPECT_EQ(placed("the <b>dog</b> sees.", "Sieht der Hund. Ja", turned), "Sieht der <b>Hund</b>. Ja");
  EXPECT_EQ(placed("\"the <b>dog</b> sees.\"", "\u201eSieht der Hund.\u201c", turned),
            "\u201eSieht der <b>Hund</b>.\u201c");
  EXPECT_EQ(placed("the <b>dog</b> sees", "Sieht der Hund, ja", {{0, 1}, {1, 2}, {2, 0}}),
            "Sieht der <b>Hund</b>, ja");
  EXPECT_EQ(placed("<b>\u72d7</b>\u770b\u89c1\u3002", "Sieht der Hund!", {{0, 2}, {1, 0}}),
            "Sieht der <b>Hund</b>!");
  // Marks that are a part of the word or of the element.
  EXPECT_EQ(placed("<b>Doctor</b> No sees.", "Dr. No sieht.", {{0, 0}, {1, 1}, {2, 2}}),
            "<b>Dr.</b> No sieht.");
  EXPECT_EQ(placed("of <b>ten percent</b> sees.", "Sieht 10%.", {{1, 1}, {2, 1}, {3, 0}}), "Sieht <b>10%</b>.");
  EXPECT_EQ(placed("<b>The dog!</b> sees.", "Sieht der Hund!", {{0, 1}, {1, 2}, {2, 0}}),
            "Sieht <b>der Hund!</b>");
  EXPECT_EQ(placed("<b>the dog</b> sees.", "Sieht ...", {{0, 1}, {1, 1}, {2, 0}}), "Sieht <b>...</b>");
}

TEST(Placement, WhatHasNoWordsStandsBesideTheWordThatItStoodBeside) {
  const std::vector<std::pair<int, int>> swapped{{0, 1}, {1, 0}};
  EXPECT_EQ(placed("one <img>two", "B A", swapped), "<img>B A");
  EXPECT_EQ(placed("one<img> two", "B A", swapped), "B A<img>");
  EXPECT_EQ(placed("one <a></a> two <b>three</b> four", "A B D", {{0, 0}, {1, 1}, {3, 2}}),
            "A <a></a>B<b></b> D");
  EXPECT_EQ(placed("one <img> two three four", "A B C D", {}), "A <img> B C D");  // as far into the text
  EXPECT_EQ(placed("one <b>two</b> x", "", {}), "<b></b>");
  // Never in an element that it was not in.
  EXPECT_EQ(placed("<a>one two</a> <img>three x", "A C B X", {{0, 0}, {2, 1}, {1, 2}, {3, 3}}),
            "<a>A C B</a><img> X");
}

TEST(Placement, FollowsWordsInScriptsWithoutSpaces) {
  EXPECT_EQ(placed("the <b>dog</b> <i>sees</i>", "狗看見。", {{1, 0}, {2, 1}}), "<b>狗</b><i>看見</i>。");
  EXPECT_EQ(
      placed("私は<b>東京</b>に<i>住ん</i>でいます。", "I live in Tokyo.", {{0, 0}, {2, 3}, {3, 2}, {4, 1}}),
      "I <i>live</i> in <b>Tokyo</b>.");
  EXPECT_EQ(placed("<b>我</b>喜欢<img>苹果", "我爱苹果", {{0, 0}, {1, 1}, {2, 2}}), "<b>我</b>爱<img>苹果");
}

TEST(Placement, PairsOfWordsThatDoNotExistAreIgnored) {
  EXPECT_EQ(placed("one <b>two</b> x", "A B C", {{-1, 0}, {1, -5}, {1, 1}, {1, 3}, {99, 0}, {1, 1}}),
            "A <b>B</b> C");
}

}  // namespace
}  // namespace sixfold
