#include "text/language.h"

#include <gtest/gtest.h>

#include <string>

namespace sixfold {
namespace {

std::string first_language(const std::string& text) {
  const LanguageShares found = find_languages(text);
  return found.languages.empty() ? "" : found.languages[0].code;
}

TEST(Language, IsFoundBesideCharactersThatAreNoText) {
  const std::string begin = "Zwei Männer in blauen Hemden",
                    end = " reparieren das Dach eines alten Hauses in der Stadt.";
  EXPECT_EQ(first_language(begin + end), "de");
  using namespace std::string_literals;
  for (const std::string& odd : {"\0"s, "\x01"s, "\x1B"s, "\x7F"s, "\u0080"s, "\u009F"s, "\uFFFE"s, "\uFDD0"s,
                                 "\U0010FFFF"s, "\xFF"s, "\xC3"s, "\uFEFF"s, "\u200B"s}) {
    SCOPED_TRACE(testing::PrintToString(odd));
    EXPECT_EQ(first_language(begin + odd + end), "de");
    EXPECT_EQ(first_language(begin + end + odd), "de");
    EXPECT_EQ(first_language(odd), "");
  }
  EXPECT_EQ(first_language(""), "");
}

TEST(Language, NorwegianAndDanishAreAlike) {
  EXPECT_TRUE(is_like_language("nn", "da"));
  EXPECT_TRUE(is_like_language("nob_Latn", "dan"));
  EXPECT_TRUE(is_like_language("de-AT", "deu"));
  EXPECT_FALSE(is_like_language("sv", "da"));
  EXPECT_FALSE(is_like_language("de", "nl"));
}

}  // namespace
}  // namespace sixfold
