#include "text/capitals.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <memory>

#include "base/error.h"

namespace sixfold {
namespace {

icu::Locale locale_of(const std::string& language) {
  return language.empty() ? icu::Locale::getRoot() : icu::Locale::createFromName(language.c_str());
}

std::string utf8_of(const icu::UnicodeString& units) {
  std::string text;
  units.toUTF8String(text);
  return text;
}

}  // namespace

std::string in_capitals(const std::string& text, const std::string& language) {
  return utf8_of(icu::UnicodeString::fromUTF8(text).toUpper(locale_of(language)));
}

bool is_in_capitals(const std::string& text) {
  int capitals = 0;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    UChar32 c;
    U8_NEXT(text.data(), at, size, c);
    if (c < 0) continue;
    if (u_hasBinaryProperty(c, UCHAR_LOWERCASE)) return false;
    if (u_hasBinaryProperty(c, UCHAR_UPPERCASE)) ++capitals;
  }
  return capitals >= 2;
}

std::string in_small_letters(const std::string& text, const std::string& language) {
  const icu::Locale locale = locale_of(language);
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> sentences(
      icu::BreakIterator::createSentenceInstance(locale, status));
  if (U_FAILURE(status)) throw_environment_error("ICU can't split text: {}", u_errorName(status));
  return utf8_of(icu::UnicodeString::fromUTF8(text).toTitle(sentences.get(), locale));
}

}  // namespace sixfold
