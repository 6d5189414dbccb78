#include "text/sentences.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// The number of bytes of white space at the beginning of a text.
size_t leading_space(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    if (!next_is_space(text, i)) return begin;
  }
  return text.size();
}

/// The position where the white space at the end of a text begins.
size_t trailing_space(std::string_view text) {
  size_t end = 0;
  for (size_t i = 0; i < text.size();)
    if (!next_is_space(text, i)) end = i;
  return end;
}

bool ends_wide(std::string_view text) {
  auto at = static_cast<int32_t>(text.size());
  if (at == 0) return true;
  UChar32 c;
  U8_PREV(text.data(), 0, at, c);
  const int width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH;
}

/// A paragraph as code points, and the byte offset of each.
struct Characters {
  explicit Characters(std::string_view text) {
    const auto length = static_cast<int32_t>(text.size());
    for (int32_t at = 0; at < length;) {
      bytes.push_back(static_cast<size_t>(at));
      UChar32 c;
      U8_NEXT_OR_FFFD(text.data(), at, length, c);
      characters.push_back(static_cast<char32_t>(c));
    }
    bytes.push_back(text.size());
  }
  size_t at_byte(size_t byte) const {
    return static_cast<size_t>(std::ranges::lower_bound(bytes, byte) - bytes.begin());
  }

  std::u32string characters;
  std::vector<size_t> bytes;
};

/// The byte positions of a text that an iterator of ICU finds, which was made with `status`.
std::vector<size_t> places_of(const std::unique_ptr<icu::BreakIterator>& breaks, UErrorCode status,
                              std::string_view text) {
  UText bytes = UTEXT_INITIALIZER;
  utext_openUTF8(&bytes, text.data(), static_cast<int64_t>(text.size()), &status);
  if (U_SUCCESS(status)) breaks->setText(&bytes, status);
  if (U_FAILURE(status)) throw_environment_error("ICU can't split text: {}", u_errorName(status));
  std::vector<size_t> places;
  breaks->first();
  for (int32_t place = breaks->next(); place != icu::BreakIterator::DONE; place = breaks->next())
    places.push_back(static_cast<size_t>(place));
  utext_close(&bytes);
  return places;
}

/// The positions where sentences may end by UAX 29 and the rules of ICU's `locale`. The end of the text is the
/// last.
std::vector<size_t> unicode_breaks(const std::string& locale, std::string_view text,
                                   const Characters& characters) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createSentenceInstance(icu::Locale::createFromName(locale.c_str()), status));
  std::vector<size_t> places = places_of(breaks, status, text);
  for (size_t& place : places) place = characters.at_byte(place);
  return places;
}

/// Moves ascending positions to the end of the white space that they are in.
void leave_spaces(std::u32string_view text, std::vector<size_t>& places) {
  size_t end = 0;
  for (size_t& place : places) {
    end = std::max(end, place);
    while (end < text.size() && u_isUWhiteSpace(static_cast<UChar32>(text[end]))) ++end;
    place = end;
  }
}

/// The positions where sentences end: those of `places` that the rules confirm, and the beginnings of list
/// items. Takes time linear in the length of the text.
std::vector<size_t> sentence_ends(const SentenceRules& rules, std::u32string_view text,
                                  std::vector<size_t> places) {
  leave_spaces(text, places);
  for (size_t& place : places)
    if (place < text.size()) place = rules.before_opening(text, place);
  const std::vector<size_t> items = rules.list_items(text);
  places.insert(places.end(), items.begin(), items.end());
  std::ranges::sort(places);
  const std::vector<bool> within = within_brackets(text);
  const std::vector<size_t> next = next_contents(text);
  std::vector<size_t> ends;
  size_t begin = 0;
  for (const size_t place : places) {
    const bool item = std::ranges::binary_search(items, place);
    if (place == begin || (!item && (within[place] || !rules.ends(text, begin, place, next[place])))) continue;
    ends.push_back(place);
    begin = place;
  }
  if (!text.empty() && begin < text.size()) ends.push_back(text.size());
  return ends;
}

}  // namespace

SentenceSplitter::SentenceSplitter(const std::string& language)
    : rules_(icu::Locale::createFromName(language.c_str()).getLanguage()),
      // For some other languages, ICU has lists of abbreviations.
      locale_(rules_.knows_abbreviations() ? language : language + "@ss=standard") {
  const icu::Locale locale = icu::Locale::createFromName(locale_.c_str());
  require(!locale.isBogus() && *locale.getISO3Language() != 0,
          "unknown language '{}' for splitting sentences; give a code such as en, de or pt-BR", language);
}

SplitParagraph SentenceSplitter::split(std::string_view paragraph) const {
  SplitParagraph split{{}, {""}};
  const Characters characters(paragraph);
  size_t begin = 0;
  for (const size_t place :
       sentence_ends(rules_, characters.characters, unicode_breaks(locale_, paragraph, characters))) {
    const size_t end = characters.bytes[place];
    const std::string_view part = paragraph.substr(begin, end - begin);
    begin = end;
    const size_t first = leading_space(part), last = trailing_space(part);
    split.spaces.back() += part.substr(0, first);
    if (first == part.size()) continue;
    split.sentences.emplace_back(part.substr(first, last - first));
    split.spaces.emplace_back(part.substr(last));
  }
  return split;
}

std::string join_sentences(const SplitParagraph& split, const std::vector<std::string>& sentences,
                           std::vector<size_t>* begins) {
  std::string text = split.spaces[0];
  if (begins) begins->clear();
  for (size_t i = 0; i < sentences.size(); ++i) {
    if (begins) begins->push_back(text.size());
    text += sentences[i];
    const bool between = i + 1 < sentences.size();
    text += between && split.spaces[i + 1].empty() && !ends_wide(sentences[i]) ? " " : split.spaces[i + 1];
  }
  return text;
}

std::vector<size_t> line_breaks(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createLineInstance(icu::Locale::getRoot(), status));
  return places_of(breaks, status, text);
}

std::vector<size_t> word_breaks(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
  return places_of(breaks, status, text);
}

}  // namespace sixfold
