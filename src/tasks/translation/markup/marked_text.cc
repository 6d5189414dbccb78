#include "tasks/translation/markup/marked_text.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"

namespace sixfold {
namespace {

constexpr size_t max_mark_size = 256;
constexpr std::string_view arrow = "-->";

struct Tag {
  size_t length = 0;  ///< 0: there is no tag
  std::string name;   ///< in lower case
  bool closes = false;
};

/// The tag at the beginning of a text: "<", a letter, any characters but "<" and ">", ">".
Tag tag_at(std::string_view text) {
  Tag tag;
  if (!text.starts_with('<')) return tag;
  size_t i = 1;
  tag.closes = text.substr(i).starts_with('/');
  if (tag.closes) ++i;
  if (i == text.size() || !is_ascii_letter(text[i])) return tag;
  for (; i < text.size() && (is_ascii_letter(text[i]) || is_ascii_digit(text[i])); ++i)
    tag.name += ascii_lower(text[i]);
  const size_t end = text.substr(0, max_mark_size).find_first_of("<>", i);
  if (end != std::string_view::npos && text[end] == '>') tag.length = end + 1;
  return tag;
}

/// The tag of a cue: from "<" to ">", or to the end of the cue. A time is a tag without a name. A ruby
/// annotation (rt) is one tag, including its content.
Tag cue_tag_at(std::string_view text) {
  Tag tag;
  if (!text.starts_with('<')) return tag;
  tag.closes = text.starts_with("</");
  for (size_t i = tag.closes ? 2 : 1; i < text.size() && is_ascii_letter(text[i]); ++i) tag.name += text[i];
  const auto after_tag = [&](size_t begin) { return std::min(text.find('>', begin), text.size() - 1) + 1; };
  tag.length = after_tag(0);
  if (tag.name != "rt" || tag.closes) return tag;
  const size_t end = std::min(text.find("</r", tag.length), text.size());
  tag.length = text.substr(end).starts_with("</rt") ? after_tag(end) : end;
  tag.name.clear();
  return tag;
}

/// The length of "{...}" without white space in it.
size_t braces_at(std::string_view text) {
  if (!text.starts_with('{')) return 0;
  const size_t end = text.substr(0, max_mark_size).find_first_of("{} \t\r\n", 1);
  return end != std::string_view::npos && text[end] == '}' ? end + 1 : 0;
}

/// The length of a conversion specification of printf; 0 if there is none. A space is not accepted as a flag,
/// so that "100 % sure" has none.
size_t conversion_at(std::string_view text) {
  if (!text.starts_with('%')) return 0;
  if (const size_t braces = braces_at(text.substr(1)); braces > 0) return 1 + braces;
  size_t i = 1;
  if (text.substr(i).starts_with('(')) {
    i = text.substr(0, max_mark_size).find_first_of(") \t\r\n", i);
    if (i == std::string_view::npos || text[i] != ')') return 0;
    ++i;
  }
  const size_t flags_end = text.find_first_not_of("-+#0123456789.*$'hlLqjzt", i);
  if (flags_end == std::string_view::npos || flags_end > max_mark_size) return 0;
  constexpr std::string_view conversions = "diouxXeEfFgGaAcspn%@";
  return conversions.find(text[flags_end]) != conversions.npos ? flags_end + 1 : 0;
}

size_t mark_at(std::string_view text, TextMarks marks) {
  if (marks == TextMarks::cues) return 0;
  if (marks == TextMarks::subtitles)
    return text.starts_with(arrow) ? arrow.size() : text.starts_with("{\\") ? braces_at(text) : 0;
  return std::max(conversion_at(text), braces_at(text));
}

struct FoundMark {
  size_t begin, end;
  PieceKind kind = PieceKind::mark;
  size_t partner = Piece::none;  ///< index in the list
  bool placeholder = false;
};

bool are_pair(char before, char after) {
  return (before == '(' && after == ')') || (before == '[' && after == ']') ||
         (before == after && (before == '"' || before == '\'' || before == '`'));
}

/// Extends a placeholder to the brackets and quotation marks around it, which would be words on their own.
void include_pairs_around(std::string_view bytes, size_t min_begin, size_t max_end, FoundMark& mark) {
  while (mark.begin > min_begin && mark.end < max_end && are_pair(bytes[mark.begin - 1], bytes[mark.end]))
    --mark.begin, ++mark.end;
}

/// Finds the marks of a text and which tags belong together.
std::vector<FoundMark> find_marks(std::string_view bytes, size_t begin, size_t end, TextMarks marks) {
  std::vector<FoundMark> found;
  std::vector<std::pair<std::string, size_t>> open;
  for (size_t i = begin; i < end;) {
    const std::string_view rest = bytes.substr(i, end - i);
    const Tag tag = marks == TextMarks::cues ? cue_tag_at(rest) : tag_at(rest);
    const size_t length = tag.length > 0 ? tag.length : mark_at(rest, marks);
    if (length == 0) {
      ++i;
      continue;
    }
    found.push_back({.begin = i, .end = i + length});
    if (marks == TextMarks::subtitles && rest.starts_with(arrow)) found.back().kind = PieceKind::boundary;
    found.back().placeholder = tag.length == 0 && marks == TextMarks::messages && !rest.starts_with("%%");
    if (tag.length == 0 && marks == TextMarks::messages)
      include_pairs_around(bytes, found.size() > 1 ? found[found.size() - 2].end : begin, end, found.back());
    i = found.back().end;
    if (tag.length == 0 || tag.name.empty()) continue;
    if (marks == TextMarks::cues ? tag.name == "v" : tag.name == "br" || tag.name == "p") {
      found.back().kind = PieceKind::boundary;
    } else if (!tag.closes) {
      open.emplace_back(tag.name, found.size() - 1);
    } else if (!open.empty() && open.back().first == tag.name) {
      if (open.size() <= max_inline_depth) {
        FoundMark& start = found[open.back().second];
        start.kind = PieceKind::open, found.back().kind = PieceKind::close;
        start.partner = found.size() - 1;
      }
      open.pop_back();
    }
  }
  return found;
}

}  // namespace

void add_marked_text(const MarkupSource& source, size_t begin, size_t end, TextMarks marks, PieceList& pieces) {
  const std::vector<FoundMark> found = find_marks(source.bytes, begin, end, marks);
  std::vector<size_t> added;
  for (const FoundMark& mark : found) {
    pieces.add_text(begin, mark.begin, /*keeps_space=*/false);
    added.push_back(pieces.add(mark.kind, mark.begin, mark.end));
    if (mark.placeholder) pieces.stands_for_words();
    begin = mark.end;
  }
  pieces.add_text(begin, end, /*keeps_space=*/false);
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i].partner != Piece::none) pieces.make_partners(added[i], added[found[i].partner]);
}

}  // namespace sixfold
