#include "tasks/translation/placeholder.h"

#include <gtest/gtest.h>

#include "text/whitespace.h"
#include "text/words.h"

namespace sixfold {
namespace {

using Lines = std::vector<std::string>;

/// Translates a line to those of its words that `keeps` names.
std::string found(const std::function<bool(const std::string&)>& keeps,
                  const std::string& more = "Anna\nBob\n") {
  std::string vocabulary = "<unk>\n<s>\n</s>\n";
  for (char c = 'a'; c <= 'z'; ++c) vocabulary += std::string(3, c) + "\n";
  const auto tokenizer = load_whitespace(vocabulary + more, "test");
  return find_placeholder(*tokenizer, *tokenizer, [&](const Lines& lines) {
    Lines translations;
    for (const std::string& line : lines) {
      std::string& text = translations.emplace_back();
      for (const TextRange range : word_ranges(line))
        if (const std::string word = line.substr(range.begin, range.end - range.begin); keeps(word))
          text += word + " ";
    }
    return translations;
  });
}

TEST(FindPlaceholder, IsAWordThatTranslationsRepeat) {
  EXPECT_EQ(found([](const std::string&) { return true; }), "XX");
  EXPECT_EQ(found([](const std::string& word) { return word == "Q7" || word == "Bob"; }), "Q7");
  EXPECT_EQ(found([](const std::string& word) { return word == "Bob"; }), "Bob") << "a word of the vocabulary";
  EXPECT_EQ(found([](const std::string& word) { return word == "Bob"; }, "Anna\n"), "");
  int calls = 0;
  EXPECT_EQ(found([&](const std::string& word) { return word == "Bob" && calls++ % 3 == 0; }), "")
      << "not only now and then";
}

}  // namespace
}  // namespace sixfold
