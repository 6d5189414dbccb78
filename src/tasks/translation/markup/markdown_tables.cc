#include "tasks/translation/markup/markdown_tables.h"

#include <algorithm>

namespace sixfold {
namespace {

/// The length of the spaces and marks of quotes at the beginning of a line.
size_t quote_size(std::string_view line) { return std::min(line.find_first_not_of(" \t>"), line.size()); }

/// The length of the mark of a list item at the beginning of a line; 0 if there is none.
size_t list_mark_size(std::string_view line) {
  size_t end = std::min(line.find_first_not_of("0123456789"), line.size());
  const bool is_mark = end < line.size() && (end > 0 ? line[end] == '.' || line[end] == ')'
                                                     : line[0] == '-' || line[0] == '*' || line[0] == '+');
  return is_mark && line.substr(++end).starts_with(' ') ? end : 0;
}

/// The number of cells of a row; 0 if it has no '|'. `row`: without quotes and list marks.
size_t count_cells(std::string_view row) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!row.empty() && is_space(row.front())) row.remove_prefix(1);
  while (!row.empty() && is_space(row.back())) row.remove_suffix(1);
  const auto is_bar = [&](size_t i) { return row[i] == '|' && (i == 0 || row[i - 1] != '\\'); };
  size_t bars = 0;
  for (size_t i = 0; i < row.size(); ++i) bars += is_bar(i) ? 1 : 0;
  if (bars == 0) return 0;
  return bars + 1 - (is_bar(0) ? 1 : 0) - (row.size() > 1 && is_bar(row.size() - 1) ? 1 : 0);
}

/// Whether a row is that between the head and the body of a table: "|:--|-:|".
bool is_delimiter_row(std::string_view row) {
  enum class Part { begin, dashes, end } part = Part::begin;
  bool any = false;
  for (const char c : row) {
    if (c == '|') {
      if (any && part == Part::begin) return false;  // an empty cell
      part = Part::begin;
      any = true;
    } else if (c == '-') {
      if (part == Part::end) return false;
      part = Part::dashes;
      any = true;
    } else if (c == ':') {
      if (part == Part::end) return false;
      part = part == Part::dashes ? Part::end : Part::begin;
    } else if (c == ' ' || c == '\t') {
      if (part == Part::dashes) part = Part::end;
    } else {
      return false;
    }
  }
  return row.find('-') != row.npos && row.find('|') != row.npos;
}

}  // namespace

MarkdownWithTables::MarkdownWithTables(std::string_view markdown) : markdown_(markdown) {
  struct Line {
    size_t begin = 0;
    std::string_view content = {};  ///< without quotes
  };
  Line before, before_that;  // empty at the beginning
  bool in_table = false;
  for (size_t begin = 0; begin < markdown.size();) {
    const size_t end = std::min(markdown.find_first_of("\r\n", begin), markdown.size());
    const std::string_view line = markdown.substr(begin, end - begin);
    const Line now{begin, line.substr(quote_size(line))};
    if (now.content.empty()) in_table = false;
    if (!in_table && is_delimiter_row(now.content)) {
      const size_t mark = list_mark_size(before.content);
      if (count_cells(before.content.substr(mark)) == count_cells(now.content)) {
        in_table = true;
        if (mark == 0 && !before_that.content.empty()) {
          const std::string_view quote = markdown.substr(
              before.begin, static_cast<size_t>(before.content.data() - markdown.data()) - before.begin);
          insert(before.begin, std::string(quote) + "\n");
        }
        for (size_t i = begin; (i = std::min(markdown.find('-', i), end)) < end;) {
          const size_t dashes = std::min(markdown.find_first_not_of('-', i), end) - i;
          i += dashes;
          if (dashes < 3) insert(i, std::string(3 - dashes, '-'));
        }
      }
    }
    before_that = before;
    before = now;
    begin = end + (markdown.substr(end).starts_with("\r\n") ? 2 : 1);
  }
  text_ += markdown.substr(written_);
}

void MarkdownWithTables::insert(size_t at, std::string_view what) {
  text_ += markdown_.substr(written_, at - written_);
  text_ += what;
  written_ = at;
  shifts_.push_back({text_.size(), text_.size() - at});
}

size_t MarkdownWithTables::original(size_t position) const {
  const auto after = std::ranges::upper_bound(shifts_, position, {}, &Shift::begin);
  return after == shifts_.begin() ? position : position - std::prev(after)->added;
}

}  // namespace sixfold
