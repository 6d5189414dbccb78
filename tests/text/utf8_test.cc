#include "text/utf8.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

TEST(Utf8, AcceptsWellFormedText) {
  for (const char* text :
       {"", "plain", "Grüße, Größe", "東京タワー", "\U0001F600", "\u07FF\u0800\uD7FF\uE000\U0010FFFF"})
    EXPECT_EQ(first_invalid_utf8(text), std::nullopt) << text;
  EXPECT_EQ(first_invalid_utf8(std::string_view("a\0b", 3)), std::nullopt);
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(first_invalid_utf8("\xFF"), 0u);
  EXPECT_EQ(first_invalid_utf8("ab\x80 c"), 2u);
  EXPECT_EQ(first_invalid_utf8("ü\xC3"), 2u);  // ends in the middle of a character
  EXPECT_EQ(first_invalid_utf8("x\xE2\x82"), 1u);
  EXPECT_EQ(first_invalid_utf8("\xC0\x80"), 0u);          // overlong
  EXPECT_EQ(first_invalid_utf8("\xE0\x9F\xBF"), 0u);      // overlong
  EXPECT_EQ(first_invalid_utf8("\xF0\x8F\xBF\xBF"), 0u);  // overlong
  EXPECT_EQ(first_invalid_utf8("\xED\xA0\x80"), 0u);      // a surrogate
  EXPECT_EQ(first_invalid_utf8("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(first_invalid_utf8("\xF5\x80\x80\x80"), 0u);
}

TEST(Utf8, ReplacesIllFormedRuns) {
  EXPECT_EQ(replace_invalid_utf8("Größe"), "Größe");
  EXPECT_EQ(replace_invalid_utf8("a\xFF"
                                 "b"),
            "a\uFFFDb");
  EXPECT_EQ(replace_invalid_utf8("\xE2\x82"), "\uFFFD");
  // The example of the Unicode standard, table 3-8.
  EXPECT_EQ(replace_invalid_utf8("a\xF1\x80\x80\xE1\x80\xC2"
                                 "b\x80"
                                 "c\x80\xBF"
                                 "d"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
}

TEST(Utf8, OneLineHasNoLineEnds) {
  EXPECT_EQ(one_line("plain ü"), "plain ü");
  EXPECT_EQ(one_line("a\nb\r\nc\r"), "a b  c ");
  EXPECT_EQ(one_line(std::string("\0a\0", 3)), "\uFFFDa\uFFFD");
}

TEST(Utf8, SeesVisibleCharacters) {
  EXPECT_TRUE(has_visible_character("  a"));
  EXPECT_TRUE(has_visible_character("\u3000京"));
  EXPECT_FALSE(has_visible_character(""));
  EXPECT_FALSE(has_visible_character(" \t\u00A0\u200B\u3000\uFEFF"));
  EXPECT_FALSE(has_visible_character(std::string_view("\0\x01", 2)));
}

TEST(Utf8, SpacesAreTrimmed) {
  EXPECT_EQ(trim_spaces("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim_spaces("\u3000\u00A0\u4EAC\u2003\x1F"), "\u4EAC");
  EXPECT_EQ(trim_spaces("a"), "a");
  EXPECT_EQ(trim_spaces("\u200Ba"), "\u200Ba");  // of no width: no space
  EXPECT_EQ(trim_spaces(" \n"), "");
  EXPECT_EQ(trim_spaces(""), "");
}

}  // namespace
}  // namespace sixfold
