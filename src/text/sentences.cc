#include "text/sentences.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <memory>

#include "base/error.h"

namespace sixfold {
namespace {

bool is_space(std::string_view text, size_t& i) {
  UChar32 c;
  auto at = static_cast<int32_t>(i);
  U8_NEXT(text.data(), at, static_cast<int32_t>(text.size()), c);
  i = static_cast<size_t>(at);
  return c >= 0 && u_isUWhiteSpace(c);
}

/// How many bytes of white space begin it.
size_t leading_space(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    if (!is_space(text, i)) return begin;
  }
  return text.size();
}

/// Where white space that ends it begins.
size_t trailing_space(std::string_view text) {
  size_t end = 0;
  for (size_t i = 0; i < text.size();)
    if (!is_space(text, i)) end = i;
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

}  // namespace

SentenceSplitter::SentenceSplitter(const std::string& language) : locale_(language + "@ss=standard") {
  const icu::Locale locale = icu::Locale::createFromName(locale_.c_str());
  require(!locale.isBogus() && *locale.getISO3Language() != 0,
          "sentences of '{}': that is no language that is known here; en, de, pt-BR and the like are",
          language);
}

SplitParagraph SentenceSplitter::split(std::string_view paragraph) const {
  SplitParagraph split{{}, {""}};
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createSentenceInstance(icu::Locale::createFromName(locale_.c_str()), status));
  UText text = UTEXT_INITIALIZER;
  utext_openUTF8(&text, paragraph.data(), static_cast<int64_t>(paragraph.size()), &status);
  if (U_SUCCESS(status)) breaks->setText(&text, status);
  if (U_FAILURE(status)) throw_world_error("ICU can't split sentences: {}", u_errorName(status));
  for (int32_t begin = breaks->first(), end = breaks->next(); end != icu::BreakIterator::DONE;
       begin = end, end = breaks->next()) {
    const std::string_view part =
        paragraph.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    const size_t first = leading_space(part), last = trailing_space(part);
    split.spaces.back() += part.substr(0, first);
    if (first == part.size()) continue;
    split.sentences.emplace_back(part.substr(first, last - first));
    split.spaces.emplace_back(part.substr(last));
  }
  utext_close(&text);
  return split;
}

std::string join_sentences(const SplitParagraph& split, const std::vector<std::string>& sentences) {
  std::string text = split.spaces[0];
  for (size_t i = 0; i < sentences.size(); ++i) {
    text += sentences[i];
    const bool between = i + 1 < sentences.size();
    text += between && split.spaces[i + 1].empty() && !ends_wide(sentences[i]) ? " " : split.spaces[i + 1];
  }
  return text;
}

}  // namespace sixfold
