#include "tasks/translation/markup/markup_error.h"

#include <algorithm>

#include "text/utf8.h"

namespace sixfold {

std::string MarkupSource::place(size_t byte) const {
  const std::string_view before = bytes.substr(0, byte);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto characters = std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_begin), before.end(),
                                        [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return fmt::format("{}, line {}, column {}", name, lines + 1, characters + 1);
}

void require_text(const MarkupSource& source) {
  require(source.bytes.size() <= max_markup_bytes,
          "{}: has {} bytes; at most {} are accepted. Split the document", source.name, source.bytes.size(),
          max_markup_bytes);
  if (const auto bad = first_invalid_utf8(source.bytes))
    throw_markup_error(source, *bad, "the byte 0x{:02X} is not valid UTF-8; convert the document",
                       static_cast<unsigned char>(source.bytes[*bad]));
  if (const size_t nul = source.bytes.find('\0'); nul != source.bytes.npos)
    throw_markup_error(source, nul,
                       "NUL is not a character of text (the document may be in UTF-16); remove it");
}

}  // namespace sixfold
