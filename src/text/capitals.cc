#include "text/capitals.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <memory>
#include <string_view>

#include "base/error.h"
#include "text/words.h"

namespace sixfold {
namespace {

icu::Locale locale_of(const LetterCase& rules) {
  return rules.language.empty() ? icu::Locale::getRoot() : icu::Locale::createFromName(rules.language.c_str());
}

/// The text with `other` in place of each whole word `word`.
std::string with_word(const std::string& text, const std::string& word, const std::string& other) {
  std::string result;
  size_t copied = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) {
    if (ends_within_word(std::string_view(text).substr(0, at)) ||
        begins_within_word(std::string_view(text).substr(at + word.size())))
      continue;
    result.append(text, copied, at - copied) += other;
    copied = at + word.size();
  }
  return result.append(text, copied);
}

/// Calls `change` with a text in which a character without case stands for the word that is kept.
template <class Change>
std::string changed(const std::string& text, const LetterCase& rules, Change change) {
  const std::string stand_in = "\uE000";  // of the private use area
  const bool keeps = !rules.kept.empty() && text.find(stand_in) == text.npos;
  icu::UnicodeString units = icu::UnicodeString::fromUTF8(keeps ? with_word(text, rules.kept, stand_in) : text);
  change(units);
  std::string result;
  units.toUTF8String(result);
  return keeps ? with_word(result, stand_in, rules.kept) : result;
}

struct LetterCounts {
  int capitals = 0, small = 0, others = 0;
};

LetterCounts letters_of(std::string_view text) {
  LetterCounts counts;
  for (size_t at = 0; at < text.size();) {
    UChar32 c;
    U8_NEXT(text.data(), at, text.size(), c);
    if (c < 0 || !u_isalpha(c)) continue;
    const int type = u_charType(c);
    ++(type == U_UPPERCASE_LETTER   ? counts.capitals
       : type == U_LOWERCASE_LETTER ? counts.small
                                    : counts.others);
  }
  return counts;
}

bool is_in_capitals(const LetterCounts& letters) {
  return letters.capitals >= 2 && letters.small == 0 && letters.capitals > letters.others;
}

}  // namespace

std::string in_capitals(const std::string& text, const LetterCase& rules) {
  return changed(text, rules, [&](icu::UnicodeString& units) { units.toUpper(locale_of(rules)); });
}

bool is_in_capitals(const std::string& text) { return is_in_capitals(letters_of(text)); }

std::string only_word_with_small_letters(const std::string& text) {
  LetterCounts rest;
  std::string found;
  for (const TextRange& range : words_of_letters(text)) {
    const std::string word = text.substr(range.begin, range.end - range.begin);
    const LetterCounts letters = letters_of(word);
    rest.capitals += letters.small > 0 ? 0 : letters.capitals;
    rest.others += letters.small > 0 ? 0 : letters.others;
    if (letters.small == 0) continue;
    if (!found.empty() && found != word) return {};
    found = word;
  }
  return is_in_capitals(rest) ? found : "";
}

std::string in_small_letters(const std::string& text, const LetterCase& rules) {
  const icu::Locale locale = locale_of(rules);
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> sentences(
      icu::BreakIterator::createSentenceInstance(locale, status));
  if (U_FAILURE(status)) throw_environment_error("ICU can't split text: {}", u_errorName(status));
  return changed(text, rules, [&](icu::UnicodeString& units) { units.toTitle(sentences.get(), locale); });
}

}  // namespace sixfold
