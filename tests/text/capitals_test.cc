#include "text/capitals.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

TEST(Capitals, FollowTheRulesOfUnicode) {
  EXPECT_EQ(in_capitals("Die Straße, übermalt: 3 ﬁ."), "DIE STRASSE, ÜBERMALT: 3 FI.");
  EXPECT_EQ(in_capitals("日本 और"), "日本 और");
  EXPECT_EQ(in_capitals(""), "");
}

TEST(Capitals, FollowTheRulesOfTheLanguage) {
  EXPECT_EQ(in_capitals("kış için", {.language = "tr"}), "KIŞ İÇİN");
  EXPECT_EQ(in_small_letters("KIŞ İÇİN", {.language = "tr"}), "Kış için");
  EXPECT_EQ(in_small_letters("KIŞ İÇİN", {.language = "tur_Latn"}), "Kış için");
  EXPECT_EQ(in_capitals("Ένα καφέ", {.language = "el"}), "ΕΝΑ ΚΑΦΕ");
  EXPECT_EQ(in_capitals("kış", {.language = "no such language"}), "KIŞ");
}

TEST(Capitals, AreRecognized) {
  for (const std::string text : {"A MAN.", "OK", "3 ÜBER-ROTE ΔΣ", "ДА!", "AB \xFF", "1º PISO", "3ª FASE"})
    EXPECT_TRUE(is_in_capitals(text)) << text;
  for (const std::string text :
       {"A man.", "A", "A 5", "", "日本", "...", "iPHONE", "STRAßE", "Я", "我在IBM工作。", "日本 TV"})
    EXPECT_FALSE(is_in_capitals(text)) << text;
}

TEST(Capitals, SmallLettersBeginSentencesWithACapital) {
  EXPECT_EQ(in_small_letters("A MAN IN A HAT. TWO DOGS! \"NO?\" 3 CATS"),
            "A man in a hat. Two dogs! \"No?\" 3 cats");
  EXPECT_EQ(in_small_letters("ÜBER ΟΔΟΣ"), "Über οδος");
  EXPECT_EQ(in_small_letters(""), "");
}

TEST(Capitals, LeaveAWordAsItIs) {
  const LetterCase rules{.language = "tr", .kept = "Frisbee"};
  EXPECT_EQ(in_small_letters("A Frisbee, IN Frisbee. BIG", rules), "A Frisbee, ın Frisbee. Bıg");
  EXPECT_EQ(in_capitals("ein Frisbee-in", rules), "EİN Frisbee-İN");
  EXPECT_EQ(in_capitals("Frisbees xFrisbee", rules), "FRİSBEES XFRİSBEE") << "whole words alone";
  EXPECT_EQ(in_capitals("\uE000 Frisbee", rules), "\uE000 FRİSBEE");
}

TEST(Capitals, TheOnlyWordWithSmallLettersIsFound) {
  EXPECT_EQ(only_word_with_small_letters("TWO Frisbee, (Frisbee) DOGS"), "Frisbee");
  EXPECT_EQ(only_word_with_small_letters("Xx12 DOGS"), "Xx12");
  for (const std::string text : {"TWO DOGS", "A Frisbee b", "two DOGS run", "Frisbee", "A Frisbee", ""})
    EXPECT_EQ(only_word_with_small_letters(text), "") << text;
}

}  // namespace
}  // namespace sixfold
