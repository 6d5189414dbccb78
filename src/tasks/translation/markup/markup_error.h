#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace sixfold {

/// A document as it is read: its bytes, and the name that begins the messages.
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
/// The number of elements that may be nested in each other.
inline constexpr size_t max_markup_depth = 512;
/// The number of inline elements that may be nested in each other. Those within are treated as block elements.
inline constexpr size_t max_inline_depth = 32;

}  // namespace sixfold
