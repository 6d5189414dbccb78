#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace sixfold {

/// The bytes of a document, and its name in messages.
struct MarkupSource {
  std::string_view bytes;
  std::string name;

  /// The place of a byte, for messages: "page.html, line 3, column 14". Both are counted from 1, columns in
  /// characters.
  std::string place(size_t byte) const;
};

/// Throws an input error that names the place of a byte.
template <class... Args>
[[noreturn]] void throw_markup_error(const MarkupSource& source, size_t byte,
                                     fmt::format_string<Args...> format, Args&&... args) {
  throw_input_error("{}: {}", source.place(byte), fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an input error if the document is too large (`max_markup_bytes`), is not valid UTF-8 or contains NUL.
void require_text(const MarkupSource& source);

inline constexpr size_t max_markup_bytes = size_t{1} << 26;
/// The maximum number of nested elements.
inline constexpr size_t max_markup_depth = 512;
/// The maximum number of nested inline elements. Inline elements that are nested deeper are treated as block
/// elements.
inline constexpr size_t max_inline_depth = 32;

}  // namespace sixfold
