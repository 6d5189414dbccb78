#pragma once
#include <string>

namespace sixfold::cli {

/// Text as a cell of a Markdown table: one line, without bars.
inline std::string markdown_cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '<') result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

}  // namespace sixfold::cli
