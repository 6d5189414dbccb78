#include "tasks/translation/markup/subtitle_lines.h"

#include <algorithm>

#include "base/ascii.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// The length of a dash at the beginning of a line, with the white space around it; 0 if there is none. Two
/// dashes, or the sign of a number, do not count.
size_t dash_length(std::string_view line) {
  const std::string_view text = trim_spaces(line);
  for (const std::string_view dash : {"-", "\u2013", "\u2014"}) {
    if (!text.starts_with(dash) || text.size() == dash.size()) continue;
    const std::string_view speech = trim_spaces(text.substr(dash.size()));
    if (speech.starts_with('-') || is_ascii_digit(text[dash.size()])) return 0;
    return static_cast<size_t>(speech.data() - line.data());
  }
  return 0;
}

}  // namespace

bool is_times(std::string_view line) {
  const auto skip_time = [&] {
    size_t colons = 0, digits = 0, i = 0;
    for (; i < line.size() && (is_ascii_digit(line[i]) || line[i] == ':' || line[i] == ',' || line[i] == '.');
         ++i) {
      colons += line[i] == ':' ? 1 : 0;
      digits += is_ascii_digit(line[i]) ? 1 : 0;
    }
    line.remove_prefix(i);
    return colons >= 1 && colons <= 2 && digits >= 4;
  };
  line = trim_spaces(line);
  if (!skip_time()) return false;
  line = trim_spaces(line);
  if (!line.starts_with("-->")) return false;
  line = trim_spaces(line.substr(3));
  return skip_time();
}

std::vector<DocumentLine> lines_of(std::string_view bytes, bool cr_ends_line) {
  std::vector<DocumentLine> lines;
  for (size_t begin = bytes.starts_with("\uFEFF") ? 3 : 0; begin < bytes.size();) {
    const size_t feed = std::min(bytes.find_first_of(cr_ends_line ? "\r\n" : "\n", begin), bytes.size());
    const bool after_cr =
        feed > begin && feed < bytes.size() && bytes[feed - 1] == '\r';  // without `cr_ends_line`
    lines.push_back({begin, after_cr ? feed - 1 : feed});
    begin = feed + (bytes.substr(feed).starts_with("\r\n") ? 2 : 1);
  }
  return lines;
}

void SpokenText::add(const DocumentLine& line) {
  const size_t dash = dash_length(source_.bytes.substr(line.begin, line.end - line.begin));
  if (dash > 0) end();
  if (first_ == none) first_ = line.begin + dash;
  last_ = line.end;
}

void SpokenText::end() {
  if (first_ != none) add_marked_text(source_, first_, last_, marks_, pieces_);
  first_ = none;
}

}  // namespace sixfold
