#include "text/json/word_pattern.h"

#include <gtest/gtest.h>
#include <unicode/regex.h>
#include <unicode/unistr.h>

#include "base/random.h"

namespace sixfold {
namespace {

constexpr std::string_view expressions[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

/// The matches of a regular expression by ICU, whose \s lacks two characters of White_Space.
std::vector<std::string> matches(std::string_view expression, const std::string& text) {
  std::string pattern;
  for (size_t i = 0; i < expression.size(); ++i) {
    const std::string_view two = expression.substr(i, 2);
    if (two == "\\s" || two == "\\S")
      pattern += two == "\\s" ? "\\p{White_Space}" : "\\P{White_Space}", ++i;
    else
      pattern += expression[i];
  }
  UErrorCode status = U_ZERO_ERROR;
  icu::RegexMatcher matcher(icu::UnicodeString::fromUTF8(pattern), 0, status);
  const icu::UnicodeString input = icu::UnicodeString::fromUTF8(text);
  matcher.reset(input);
  std::vector<std::string> found;
  while (matcher.find(status)) matcher.group(status).toUTF8String(found.emplace_back());
  EXPECT_TRUE(U_SUCCESS(status));
  return found;
}

std::vector<std::string> words(std::string_view expression, const std::string& text) {
  std::vector<std::string> all;
  for (const TextRange& word : word_pattern(expression)->words(text))
    all.push_back(text.substr(word.begin, word.end - word.begin));
  return all;
}

TEST(WordPattern, FindsTheMatchesOfTheExpression) {
  const std::vector<std::string> signs{
      "a",          "S",      "s",          "'",      "'s",     "'LL",    "'re",  "\u017F", "\u00E9",
      "e\u0301",    "\u6771", "1",          "2",      "\u0661", "\u00BD", " ",    " ",      "  ",
      "\n",         "\r\n",   "\t",         "\u00A0", "\u3000", "\u0085", "\x1c", ".",      "!",
      "\U0001F600", "\u200D", "\U00010400", "_",      "v",      "l",      "m",    "d",      "t"};
  RandomStream random(5, 0);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (int k = 0; k < 20; ++k) text += signs[random.below(static_cast<uint32_t>(signs.size()))];
    for (const std::string_view expression : expressions)
      ASSERT_EQ(words(expression, text), matches(expression, text)) << text;
  }
}

TEST(WordPattern, KnowsNoOtherExpression) {
  EXPECT_FALSE(word_pattern("(a+)+$"));
  EXPECT_FALSE(word_pattern(""));
}

/// Long runs of one character, and of two by turns, take linear time: otherwise this test would take hours.
TEST(WordPattern, TakesLinearTime) {
  const std::vector<std::string> parts{" ", "\n", " \n", "1", "a", "'", "' ", ".", "\t\r", "'s", "\u3000"};
  for (const std::string& part : parts) {
    std::string text;
    while (text.size() < 2'000'000) text += part;
    for (const std::string_view expression : expressions) {
      size_t size = 0;
      for (const TextRange& word : word_pattern(expression)->words(text)) size += word.end - word.begin;
      EXPECT_EQ(size, text.size());
    }
  }
}

}  // namespace
}  // namespace sixfold
