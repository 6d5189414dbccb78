#include "tasks/translation/markup/markdown_tables.h"

#include <algorithm>

#include "base/ascii.h"

namespace sixfold {
namespace {

/// What encloses a line: the marks of quotes and list items at its beginning.
struct Containers {
  size_t size = 0;        ///< bytes, with the white space around them
  size_t quotes = 0;      ///< number of marks of quotes
  bool has_item = false;  ///< whether an item of a list begins here
};

/// The length of the mark of a list item at the beginning of a text; 0 if there is none.
size_t list_mark_size(std::string_view text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  if (end + 1 >= text.size() || (text[end + 1] != ' ' && text[end + 1] != '\t')) return 0;
  const bool is_mark =
      end > 0 ? text[end] == '.' || text[end] == ')' : text[0] == '-' || text[0] == '*' || text[0] == '+';
  return is_mark ? end + 1 : 0;
}

Containers containers_of(std::string_view line) {
  Containers found;
  for (;;) {
    found.size = std::min(line.find_first_not_of(" \t", found.size), line.size());
    if (line.substr(found.size).starts_with('>')) {
      ++found.size, ++found.quotes;
    } else if (const size_t mark = list_mark_size(line.substr(found.size)); mark > 0) {
      found.size += mark;
      found.has_item = true;
    } else {
      return found;
    }
  }
}

/// The number of cells of a row; 0 if it has no '|'.
size_t count_cells(std::string_view row) {
  while (!row.empty() && (row.back() == ' ' || row.back() == '\t')) row.remove_suffix(1);
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

/// The length of the fence of a code block at the beginning of a line; 0 if there is none.
size_t fence_size(std::string_view content) {
  if (!content.starts_with("```") && !content.starts_with("~~~")) return 0;
  return std::min(content.find_first_not_of(content[0]), content.size());
}

bool begins_html(std::string_view content) {
  return content.size() > 1 && content[0] == '<' &&
         (is_ascii_letter(content[1]) || std::string_view("/!?").find(content[1]) != std::string_view::npos);
}

bool is_heading(std::string_view content) {
  const size_t marks = std::min(content.find_first_not_of('#'), content.size());
  return marks > 0 && marks <= 6 &&
         (marks == content.size() || content[marks] == ' ' || content[marks] == '\t');
}

/// Whether a line is a thematic break: "***".
bool is_break(std::string_view content) {
  if (content.empty() || std::string_view("*-_").find(content[0]) == std::string_view::npos) return false;
  return std::ranges::count(content, content[0]) >= 3 &&
         std::ranges::all_of(content, [&](char c) { return c == content[0] || c == ' ' || c == '\t'; });
}

}  // namespace

MarkdownWithTables::MarkdownWithTables(std::string_view markdown) : markdown_(markdown) {
  struct Line {
    size_t begin = 0;
    Containers containers = {};
    std::string_view content = {};  ///< without the containers; empty at the beginning of the document
  };
  Line before, before_that;
  std::string_view fence;  // of the code block that the line is in
  size_t fence_quotes = 0, table_quotes = 0, table_indent = 0;
  bool in_table = false, in_html = false;
  const auto insert_empty_line = [&](const Line& line) {
    // In the quote of the line, but not as a new item of its list.
    const std::string_view enclosing = markdown.substr(line.begin, line.containers.size);
    insert(line.begin, (line.containers.has_item ? "" : std::string(enclosing)) + "\n");
  };
  for (size_t begin = 0; begin < markdown.size();) {
    const size_t end = std::min(markdown.find_first_of("\r\n", begin), markdown.size());
    const std::string_view whole = markdown.substr(begin, end - begin);
    Line now{begin, containers_of(whole)};
    now.content = whole.substr(now.containers.size);
    const size_t quotes = now.containers.quotes;
    if (!fence.empty() && quotes < fence_quotes) fence = {};  // ends with its quote
    const size_t fence_here = fence_size(now.content);
    const bool in_fence = !fence.empty();
    if (in_fence && fence_here >= fence.size() && now.content[0] == fence[0] &&
        now.content.find_first_not_of(" \t", fence_here) == now.content.npos)
      fence = {};
    if (now.content.empty()) in_table = in_html = false;
    const bool is_text = !in_fence && !now.content.empty();
    if (is_text) {
      const bool begins_block = quotes != table_quotes || now.containers.has_item || fence_here > 0 ||
                                begins_html(now.content) || is_heading(now.content) || is_break(now.content) ||
                                now.containers.size >= table_indent + 4;
      if (in_table && begins_block) {
        if (quotes == table_quotes)
          insert_empty_line(now);
        else
          insert(now.begin, "\n");
        in_table = false;
        before = before_that = {};
      }
      in_html |= begins_html(now.content);
      if (fence_here > 0) fence = now.content.substr(0, fence_here), fence_quotes = quotes;
      if (!in_table && !in_html && !now.containers.has_item && is_delimiter_row(now.content) &&
          quotes == before.containers.quotes && count_cells(before.content) == count_cells(now.content)) {
        in_table = true;
        table_quotes = quotes;
        table_indent = now.containers.size;
        if (!before.containers.has_item && !before_that.content.empty()) insert_empty_line(before);
        for (size_t i = begin; (i = std::min(markdown.find('-', i), end)) < end;) {
          const size_t dashes = std::min(markdown.find_first_not_of('-', i), end) - i;
          i += dashes;
          if (dashes < 3) insert(i, std::string(3 - dashes, '-'));
        }
      }
    }
    before_that = is_text && fence_here == 0 ? before : Line();
    before = is_text && fence_here == 0 ? now : Line();
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
