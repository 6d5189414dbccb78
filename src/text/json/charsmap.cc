#include "text/json/charsmap.h"

#include <unicode/brkiter.h>

#include <memory>

#include "base/base64.h"
#include "base/error.h"
#include "text/json/text_edit.h"
#include "text/json/unicode_rules.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Where grapheme clusters end. An iterator is made once per thread, since that takes long.
icu::BreakIterator& clusters_of(UText& text) {
  thread_local const std::unique_ptr<icu::BreakIterator> iterator = [] {
    UErrorCode failed = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> made(
        icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), failed));
    if (U_FAILURE(failed)) throw_environment_error("ICU can't find characters: {}", u_errorName(failed));
    return made;
  }();
  UErrorCode failed = U_ZERO_ERROR;
  iterator->setText(&text, failed);
  if (U_FAILURE(failed)) throw_environment_error("ICU can't find characters: {}", u_errorName(failed));
  return *iterator;
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

}  // namespace

Charsmap::Charsmap(std::string_view base64_text, const std::string& where) {
  const auto refuse = [&](const char* reason) {
    throw_input_error("{}: precompiled_charsmap {}", where, reason);
  };
  const std::optional<std::string> bytes = from_base64(base64_text);
  if (!bytes) refuse("is not base64");
  const auto unit = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>((*bytes)[at + i]);
    return value;
  };
  if (bytes->empty()) return;
  if (bytes->size() < 8) refuse("is too short");
  const size_t size = unit(0);
  if (size % 4 != 0 || size == 0 || size > bytes->size() - 4)
    refuse("has a size that is not that of its array");
  for (size_t at = 4; at < 4 + size; at += 4) units_.push_back(unit(at));
  replacements_ = bytes->substr(4 + size);
  if (first_invalid_utf8(replacements_)) refuse("has replacements that are not UTF-8");
  replacements_ += '\0';
  constexpr size_t max_bytes = 1024;  // the longest replacements of Unicode have about 30 bytes
  for (size_t begin = 0, end; begin < replacements_.size(); begin = end + 1) {
    end = replacements_.find('\0', begin);
    if (end - begin > max_bytes) refuse("has a replacement of more than 1024 bytes");
  }
}

const char* Charsmap::find(std::string_view part) const {
  if (units_.empty()) return nullptr;
  const auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); };
  size_t place = offset(units_[0]);
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    place ^= byte;
    if (byte == 0 || place >= units_.size()) return nullptr;
    const uint32_t unit = units_[place];
    if ((unit & 0x800000FF) != byte) return nullptr;
    place ^= offset(unit);
    if ((unit & 0x100) == 0) continue;
    if (place >= units_.size()) return nullptr;
    const size_t value = units_[place] & 0x7FFFFFFF;
    const bool begins = value < replacements_.size() && (replacements_[value] & 0xC0) != 0x80;
    return begins ? replacements_.data() + value : nullptr;
  }
  return nullptr;
}

void Charsmap::put(TextEdit& edit, std::string_view text, size_t begin, size_t end) const {
  if (const char* const found = find(text.substr(begin, end - begin)))
    edit.put(found, begin, end);
  else
    edit.keep(begin, end);
}

void Charsmap::put_cluster(TextEdit& edit, std::string_view text, size_t begin, size_t end) const {
  constexpr size_t max_cluster_bytes = 5;  // of clusters that are replaced as a whole
  if (end - begin <= max_cluster_bytes)
    if (const char* const found = find(text.substr(begin, end - begin))) return edit.put(found, begin, end);
  for (size_t next = begin; begin < end; begin = next) {
    next_character(text, next);
    put(edit, text, begin, next);
  }
}

/// An ASCII character before another one is a cluster by itself, except "\r\n". ICU finds the clusters in runs
/// of other characters, which include the ASCII characters at both ends.
void Charsmap::apply(NormalizedText& read) const {
  const std::string_view text = read.text;
  TextEdit edit(read);
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    if (is_ascii(text[begin]) && (end == text.size() || is_ascii(text[end]))) {
      if (text[begin] == '\r' && end < text.size() && text[end] == '\n') ++end;
      put_cluster(edit, text, begin, end);
      begin = end;
      continue;
    }
    while (end < text.size() && !is_ascii(text[end])) ++end;
    if (end < text.size()) ++end;  // this ASCII character may belong to the cluster before it
    UErrorCode failed = U_ZERO_ERROR;
    UText run = UTEXT_INITIALIZER;
    utext_openUTF8(&run, text.data() + begin, static_cast<int64_t>(end - begin), &failed);
    icu::BreakIterator& clusters = clusters_of(run);
    const size_t first = begin, last_ascii = is_ascii(text[end - 1]) ? end - 1 : end;
    clusters.first();
    for (int32_t next = clusters.next(); next != icu::BreakIterator::DONE && begin < last_ascii;
         next = clusters.next()) {
      put_cluster(edit, text, begin, first + static_cast<size_t>(next));
      begin = first + static_cast<size_t>(next);
    }
    utext_close(&run);
  }
  edit.finish();
}

}  // namespace sixfold
