#include "text/read_text.h"

#include <unicode/bytestream.h>
#include <unicode/edits.h>
#include <unicode/normalizer2.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "text/normal_form.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Whether a character of a source is left out, since it is invisible and only affects the layout.
bool is_left_out(std::string_view character) {
  return character == "\u00AD" || character == "\u2060" || character == "\uFEFF";
}

void append(NormalizedText& result, std::string_view bytes, TextRange origin, bool with_origins) {
  result.text += bytes;
  if (with_origins) result.origins.insert(result.origins.end(), bytes.size(), origin);
}

/// The text with folded white space. The origins are empty unless `with_origins`.
NormalizedText folded(std::string_view text, TextSide side, bool with_origins) {
  NormalizedText result;
  TextRange space;  // before the next character
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const bool is_space = next_is_space(text, end);
    const std::string_view character = text.substr(begin, end - begin);
    if (is_space) {
      if (space.end == 0) space.begin = begin;
      space.end = end;
    } else if (side != TextSide::source || !is_left_out(character)) {
      if (space.end > 0 && !result.text.empty()) append(result, " ", space, with_origins);
      space = {};
      for (size_t i = begin; with_origins && i < end; ++i) result.origins.push_back({i, i + 1});
      result.text += character;
    }
  }
  return result;
}

/// The end of the part of a text from `begin` on that can be composed by itself. Parts are short, since ICU
/// sorts the marks after a letter in quadratic time.
size_t end_of_part(const icu::Normalizer2& form, std::string_view text, size_t begin) {
  constexpr size_t longest = 1024;
  if (text.size() - begin <= longest) return text.size();
  const auto is_inside = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  size_t last = begin + longest;
  for (int i = 0; i < 3 && is_inside(last); ++i) --last;
  for (size_t end = last; end > begin; --end) {
    if (is_inside(end)) continue;
    auto at = static_cast<int32_t>(end);
    UChar32 character;
    U8_NEXT(text.data(), at, static_cast<int32_t>(text.size()), character);
    if (character < 0 || form.hasBoundaryBefore(character)) return end;
  }
  return last;
}

/// Appends the origins of the bytes after `edits` to `after`; `before` are the origins of the bytes before
/// them.
void follow_edits(const icu::Edits& edits, std::vector<TextRange>::const_iterator before,
                  std::vector<TextRange>& after) {
  UErrorCode failed = U_ZERO_ERROR;
  for (auto edit = edits.getFineIterator(); edit.next(failed); before += edit.oldLength()) {
    if (!edit.hasChange()) {
      after.insert(after.end(), before, before + edit.oldLength());
    } else if (edit.oldLength() > 0) {
      const TextRange all{before->begin, (before + edit.oldLength() - 1)->end};
      after.insert(after.end(), static_cast<size_t>(edit.newLength()), all);
    }
  }
}

}  // namespace

void normalize(const icu::Normalizer2& form, NormalizedText& read) {
  UErrorCode failed = U_ZERO_ERROR;
  require(read.text.size() <= INT32_MAX, "a text has {} bytes; it may have 2 GiB", read.text.size());
  if (std::ranges::all_of(read.text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return;
  const std::string_view text = read.text;
  NormalizedText result;
  icu::StringByteSink<std::string> sink(&result.text);
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = end_of_part(form, text, begin);
    icu::Edits edits;
    form.normalizeUTF8(0, {text.data() + begin, static_cast<int32_t>(end - begin)}, sink,
                       read.origins.empty() ? nullptr : &edits, failed);
    if (U_FAILURE(failed)) throw_environment_error("ICU can't normalize text: {}", u_errorName(failed));
    if (!read.origins.empty())
      follow_edits(edits, read.origins.cbegin() + static_cast<std::ptrdiff_t>(begin), result.origins);
  }
  read = std::move(result);
}

namespace {

void compose(NormalizedText& read) {
  UErrorCode failed = U_ZERO_ERROR;
  const icu::Normalizer2* const form = icu::Normalizer2::getNFCInstance(failed);
  if (U_FAILURE(failed)) throw_environment_error("ICU can't normalize text: {}", u_errorName(failed));
  normalize(*form, read);
}

NormalizedText fold_and_compose(std::string_view text, TextSide side, bool with_origins) {
  NormalizedText read = folded(text, side, with_origins);
  compose(read);
  return read;
}

}  // namespace

std::string read_text(std::string_view text, TextSide side) {
  if (side == TextSide::exact) return std::string(text);
  if (first_invalid_utf8(text)) return fold_and_compose(replace_invalid_utf8(text), side, false).text;
  return fold_and_compose(text, side, false).text;
}

NormalizedText locate_text(std::string_view text, TextSide side) {
  if (side != TextSide::exact) return fold_and_compose(text, side, true);
  NormalizedText read{std::string(text), {}};
  for (size_t i = 0; i < text.size(); ++i) read.origins.push_back({i, i + 1});
  return read;
}

std::string composed(std::string_view text) {
  NormalizedText read{std::string(text), {}};
  compose(read);
  return std::move(read.text);
}

}  // namespace sixfold
