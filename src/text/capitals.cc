#include "text/capitals.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <memory>
#include <string_view>

#include "base/error.h"

namespace sixfold {
namespace {

icu::Locale locale_of(const LetterCase& rules) {
  return rules.language.empty() ? icu::Locale::getRoot() : icu::Locale::createFromName(rules.language.c_str());
}

/// Calls `change` with a text in which a character without case stands for the word that is kept.
template <class Change>
std::string changed(const std::string& text, const LetterCase& rules, Change change) {
  constexpr char16_t stand_in = 0xE000;  // of the private use area
  icu::UnicodeString units = icu::UnicodeString::fromUTF8(text);
  const icu::UnicodeString kept = icu::UnicodeString::fromUTF8(rules.kept), one(stand_in);
  const bool keeps = !kept.isEmpty() && units.indexOf(stand_in) < 0;
  if (keeps) units.findAndReplace(kept, one);
  change(units);
  if (keeps) units.findAndReplace(one, kept);
  std::string result;
  units.toUTF8String(result);
  return result;
}

}  // namespace

std::string in_capitals(const std::string& text, const LetterCase& rules) {
  return changed(text, rules, [&](icu::UnicodeString& units) { units.toUpper(locale_of(rules)); });
}

bool is_in_capitals(const std::string& text, const LetterCase& rules) {
  int capitals = 0;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    if (!rules.kept.empty() && std::string_view(text).substr(static_cast<size_t>(at)).starts_with(rules.kept)) {
      at += static_cast<int32_t>(rules.kept.size());
      continue;
    }
    UChar32 c;
    U8_NEXT(text.data(), at, size, c);
    const int type = c < 0 ? int{U_UNASSIGNED} : u_charType(c);
    if (type == U_LOWERCASE_LETTER) return false;
    if (type == U_UPPERCASE_LETTER) ++capitals;
  }
  return capitals >= 2;
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
