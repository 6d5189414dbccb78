#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tasks/translation/markup/markup_error.h"

namespace sixfold {

/// A string of a PO file: the decoded text of its literals, and their bytes from the first quotation mark to
/// the last.
struct PoString {
  std::string text;
  size_t begin = 0, end = 0;
};

/// A message of a PO file that is not obsolete.
struct PoMessage {
  std::string context;
  bool has_context = false;
  PoString id;
  std::string plural;  ///< empty: there is no plural
  std::vector<PoString> translations;
  bool has_percent_signs = false;  ///< a flag such as no-c-format says that '%' is no placeholder
  std::string_view format_signs;   ///< the signs of placeholders, by a flag such as c-format: "%", "{}" or "$"

  bool is_header() const { return id.text.empty() && !has_context; }
  bool is_translated() const;
};

/// Reads the messages of a PO file. Throws an input error with line and column for a syntax error, for a
/// message without msgstr, and for an encoding other than UTF-8.
std::vector<PoMessage> read_po(const MarkupSource& source);

/// Writes text as literals: a single one, or an empty one and then one for each line, separated by `line_end`.
std::string po_literals(const std::string& text, const std::string& line_end);

}  // namespace sixfold
