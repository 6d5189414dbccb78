#pragma once
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tasks/translation/markup/translate_markup.h"
#include "text/words.h"

namespace sixfold {

/// The words of a translation in order, with the source word of each, or -1.
using FakeWords = std::vector<std::pair<std::string, int>>;

inline std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const TextRange word : word_ranges(text))
    words.emplace_back(text.substr(word.begin, word.end - word.begin));
  return words;
}

inline std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

/// A translator of texts from one of words, with the true alignment.
inline TextTranslator fake_translator(
    const std::function<FakeWords(const std::vector<std::string>&)>& translate,
    std::string_view separator = " ") {
  return [=](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> translations;
    for (const std::string& text : texts) {
      TranslatedText& result = translations.emplace_back();
      int words = 0;  // of the result
      for (const auto& [word, source] : translate(words_of(text))) {
        if (!result.text.empty()) result.text += separator;
        result.text += word;
        if (words == 0 || !separator.empty()) words += static_cast<int>(count_words(word));
        if (source >= 0) result.alignment.emplace_back(source, words - 1);
      }
    }
    return translations;
  };
}

inline TextTranslator identity() {
  return [](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> same;
    for (const std::string& text : texts) same.push_back({text});
    return same;
  };
}

/// Upper-case letters, in the same order.
inline TextTranslator upper_case() {
  return fake_translator([](const std::vector<std::string>& words) {
    FakeWords result;
    for (size_t i = 0; i < words.size(); ++i) result.emplace_back(upper(words[i]), static_cast<int>(i));
    return result;
  });
}

/// The words from the last to the first, in upper case.
inline TextTranslator reversed() {
  return fake_translator([](const std::vector<std::string>& words) {
    FakeWords result;
    for (size_t i = words.size(); i-- > 0;) result.emplace_back(upper(words[i]), static_cast<int>(i));
    return result;
  });
}

/// Without the first word and then every third.
inline TextTranslator dropping() {
  return fake_translator([](const std::vector<std::string>& words) {
    FakeWords result;
    for (size_t i = 0; i < words.size(); ++i)
      if (i % 3 != 0) result.emplace_back(upper(words[i]), static_cast<int>(i));
    return result;
  });
}

/// With words between that are aligned to none, and that a careless writer would take for markup.
inline TextTranslator adding() {
  return fake_translator([](const std::vector<std::string>& words) {
    FakeWords result{{"<b>", -1}};
    for (size_t i = 0; i < words.size(); ++i) {
      result.emplace_back(upper(words[i]), static_cast<int>(i));
      result.emplace_back(i % 2 == 0 ? "&amp;" : "]]>", -1);
    }
    return result;
  });
}

/// One word for each text, as in Chinese.
inline TextTranslator without_spaces() {
  return fake_translator(
      [](const std::vector<std::string>& words) {
        FakeWords result;
        for (size_t i = 0; i < words.size(); ++i)
          result.emplace_back(i % 2 ? "\u5b57" : "\u6f22", static_cast<int>(i));
        return result;
      },
      "");
}

/// Words in any order and number with an alignment of any pairs, some of words that do not exist. The same for
/// the same text.
inline TextTranslator arbitrary() {
  return [](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> translations;
    for (const std::string& text : texts) {
      RandomStream random(std::hash<std::string>()(text), 0);
      const std::vector<std::string> words = words_of(text);
      const auto below = [&](size_t n) { return random.below(static_cast<uint32_t>(n)); };
      const uint32_t count = below(2 * words.size() + 1);
      TranslatedText& result = translations.emplace_back();
      for (uint32_t i = 0; i < count; ++i)
        result.text += (i == 0 ? "" : below(4) == 0 ? "  " : " ") + upper(words[below(words.size())]);
      for (uint32_t i = below(3 * count + 1); i > 0; --i)
        result.alignment.emplace_back(static_cast<int>(below(words.size() + 3)) - 1,
                                      static_cast<int>(below(count + 3)) - 1);
    }
    return translations;
  };
}

}  // namespace sixfold
