#include "tasks/translation/markup/marked_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/ascii.h"
#include "tasks/translation/markup/html_elements.h"
#include "tasks/translation/markup/html_tokens.h"

namespace sixfold {
namespace {

constexpr size_t max_mark_size = 256;
constexpr std::string_view arrow = "-->";
constexpr std::string_view mark_ends = " \t\r\n";  // are not in braces

/// The length of the letters, digits and underscores at the beginning of a text, at most a mark's.
size_t length_of_name(std::string_view text) {
  const auto belongs = [](char c) { return is_ascii_letter(c) || is_ascii_digit(c) || c == '_'; };
  const std::string_view limited = text.substr(0, max_mark_size);
  return static_cast<size_t>(std::ranges::find_if_not(limited, belongs) - limited.begin());
}

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

/// The length of text in braces, which may hold further braces, such as "{name:>{width}}", and white space only
/// behind a number and a comma, as in "{0, number}".
size_t braces_at(std::string_view text) {
  if (!text.starts_with('{')) return 0;
  const size_t number_end = std::min(text.find_first_not_of("0123456789", 1), text.size());
  const bool has_format = number_end > 1 && text.substr(number_end).starts_with(',');
  int depth = 0;
  for (size_t i = 0; i < std::min(text.size(), max_mark_size); ++i) {
    if (text[i] == '{')
      ++depth;
    else if (text[i] == '}')
      --depth;
    else if (mark_ends.find(text[i]) != mark_ends.npos && !(has_format && text[i] == ' '))
      return 0;
    if (depth == 0) return i + 1;
  }
  return 0;
}

/// The length of "{{ name }}", of "{% if name %}", or of two braces that stand for one.
size_t double_braces_at(std::string_view text) {
  if (text.starts_with("}}")) return 2;
  const bool is_statement = text.starts_with("{%");
  if (!is_statement && !text.starts_with("{{")) return 0;
  const size_t end = text.substr(0, max_mark_size).find_first_of("{}\n", 2);
  const bool ends = end != std::string_view::npos && (is_statement ? text[end] == '}' && text[end - 1] == '%'
                                                                   : text.substr(end).starts_with("}}"));
  return ends ? end + (is_statement ? 1 : 2) : is_statement ? 0 : 2;
}

/// The length of "${name}", or of "$name" that is not `within` a word.
size_t variable_at(std::string_view text, bool within) {
  if (!text.starts_with('$')) return 0;
  if (const size_t braces = braces_at(text.substr(1)); braces > 0) return 1 + braces;
  const size_t name = length_of_name(text.substr(1));
  return name > 0 && !within && !is_ascii_digit(text[1]) ? 1 + name : 0;
}

/// The length of "%NAME%", "%1%" or "%|...|".
size_t name_in_percent_signs_at(std::string_view text) {
  if (text.starts_with("%|")) {
    const size_t end = text.substr(0, max_mark_size).find_first_of("|% \t\r\n", 2);
    return end != std::string_view::npos && end > 2 && text[end] == '|' ? end + 1 : 0;
  }
  const std::string_view name = text.substr(1, length_of_name(text.substr(1)));
  const bool is_number = std::ranges::all_of(name, is_ascii_digit),
             is_constant = name.size() > 1 && ascii_upper(name) == name;
  if (name.empty() || !(is_number || is_constant)) return 0;
  const std::string_view rest = text.substr(1 + name.size());
  const bool goes_on = is_number && rest.size() > 1 && (rest[1] == '%' || is_ascii_digit(rest[1]));
  return rest.starts_with('%') && !goes_on ? name.size() + 2 : 0;
}

bool is_letter_at(std::string_view text, size_t i) { return i < text.size() && is_ascii_letter(text[i]); }

/// The length of "%1" or "%L1", as Qt has them, or of "%1$tY" and "%0:s" of other languages; not of a number of
/// another length.
size_t numbered_argument_at(std::string_view text) {
  const size_t begin = text.starts_with("%L") ? 2 : 1, end = begin + length_of_name(text.substr(begin));
  const std::string_view number = text.substr(begin, end - begin);
  if (number.empty() || number.size() > 2 || !std::ranges::all_of(number, is_ascii_digit)) return 0;
  size_t letters = end + 1;
  while (is_letter_at(text, letters)) ++letters;
  const bool is_date = text.substr(end).starts_with("$") && letters > end + 1,
             is_pascal = text.substr(end).starts_with(":") && letters == end + 2;
  return is_date ? std::min(letters, end + 3) : is_pascal ? letters : end;
}

/// A mark in a text.
struct Mark {
  size_t length = 0;  ///< 0: there is none
  bool keeps_order = false;
};

/// A conversion specification of printf or the like. Those without a number or a name keep their order. A space
/// is not accepted as a flag, so that "100 % sure" has none, nor is "%" between a digit and two letters, as in
/// "50%discount". `before`: the character before the text.
Mark conversion_at(std::string_view text, char before) {
  if (!text.starts_with('%')) return {};
  const bool is_percentage =
      text.substr(1).starts_with('|') || (is_letter_at(text, 1) && is_letter_at(text, 2));
  if (is_ascii_digit(before) && is_percentage) return {};
  if (const size_t braces = braces_at(text.substr(1)); braces > 0) return {1 + braces};
  if (const size_t name = name_in_percent_signs_at(text); name > 0) return {name};
  size_t i = 1;
  if (text.substr(i).starts_with('(')) {
    i = text.substr(0, max_mark_size).find_first_of(") \t\r\n", i);
    if (i == std::string_view::npos || text[i] != ')') return {};
    ++i;
  }
  constexpr std::string_view flags = "-+#0123456789.*$'hlLqjzt", conversions = "diouxXeEfFgGaAcspn%@";
  size_t name_end = i > 1 ? i : 0;
  if (text.substr(i).starts_with("I64") || text.substr(i).starts_with("I32")) i += 3;  // of Windows
  size_t flags_end = std::min(text.find_first_not_of(flags, i), text.size());
  if (text.substr(flags_end).starts_with('<') && numbered_argument_at(text) == 0) {
    const size_t name = length_of_name(text.substr(flags_end + 1));
    if (name == 0 || !text.substr(flags_end + 1 + name).starts_with('>')) return {};
    name_end = flags_end + name + 2;
    if (text.substr(flags_end).starts_with("<PRI")) return {name_end, true};  // C; others are of Ruby
    flags_end = std::min(text.find_first_not_of(flags, name_end), text.size());
  }
  if (flags_end > max_mark_size) return {};
  const char last = flags_end < text.size() ? text[flags_end] : ' ';
  const bool is_errno = last == 'm' && flags_end == 1 && !is_letter_at(text, 2);
  const bool is_sign = last == '%' && flags_end > 1;  // "%1%1" has two arguments
  if ((conversions.find(last) != conversions.npos && !is_sign) || (last == 'r' && name_end > 0) || is_errno) {
    const size_t number_end = std::min(text.find_first_not_of("0123456789", 1), text.size());
    const bool is_numbered = number_end > 1 && text.substr(number_end).starts_with('$');
    return {flags_end + 1, name_end == 0 && !is_numbered && text[1] != '%' && !is_errno};
  }
  return {name_end > 0 && text[name_end - 1] == '>' ? name_end : numbered_argument_at(text)};
}

bool are_messages(TextMarks marks) {
  return marks == TextMarks::messages || marks == TextMarks::messages_with_percent_signs;
}

/// Whether a text has a conversion that keeps its order.
bool has_ordered_conversion(std::string_view text) {
  for (size_t i = 0; (i = text.find('%', i)) != text.npos;) {
    const Mark conversion = conversion_at(text.substr(i), i > 0 ? text[i - 1] : ' ');
    if (conversion.keeps_order) return true;
    i += std::max<size_t>(conversion.length, 1);
  }
  return false;
}

/// The mark at the beginning of a text, before which is the character `before`.
Mark mark_at(std::string_view text, char before, TextMarks marks) {
  if (marks == TextMarks::cues) return {};
  if (marks == TextMarks::subtitles)
    return {text.starts_with(arrow) ? arrow.size() : text.starts_with("{\\") ? braces_at(text) : 0};
  const bool conversions = marks == TextMarks::messages;
  if (const Mark mark = conversions ? conversion_at(text, before) : Mark(); mark.length > 0) return mark;
  const bool within = is_ascii_letter(before) || is_ascii_digit(before);
  size_t length = double_braces_at(text);
  if (length == 0) length = std::max(braces_at(text), variable_at(text, within));
  return {length, conversions && has_ordered_conversion(text.substr(0, length))};
}

/// The end of each element of a text, by the begin of its start tag, in linear time.
std::map<size_t, size_t> ends_of_elements(std::string_view text) {
  std::map<size_t, size_t> ends;
  std::map<std::string, std::vector<size_t>> open;  // the begins of start tags, by name
  for (size_t i = 0; (i = text.find('<', i)) != text.npos;) {
    const Tag tag = tag_at(text.substr(i));
    if (tag.length > 0) {
      std::vector<size_t>& starts = open[tag.name];
      if (tag.closes && !starts.empty()) {
        ends[starts.back()] = i + tag.length;
        starts.pop_back();
      } else if (!tag.closes && text[i + tag.length - 2] != '/') {
        starts.push_back(i);
      }
    }
    i += std::max<size_t>(tag.length, 1);
  }
  return ends;
}

struct FoundMark {
  size_t begin, end;
  PieceKind kind = PieceKind::mark;
  size_t partner = Piece::none;  ///< index in the list
  bool placeholder = false, keeps_order = false;
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
  std::optional<std::map<size_t, size_t>> ends;  // of elements, once one is asked for
  for (size_t i = begin; i < end;) {
    const std::string_view rest = bytes.substr(i, end - i);
    Tag tag = marks == TextMarks::cues ? cue_tag_at(rest) : tag_at(rest);
    HtmlContent content = HtmlContent::translated;
    const bool is_start = are_messages(marks) && tag.length > 0 && !tag.closes;
    if (is_start && (html_traits(tag.name) & html_block) == 0) content = content_of(rest.substr(0, tag.length));
    if (content != HtmlContent::translated) {  // the element as a whole, if it has an end
      if (!ends) ends = ends_of_elements(bytes.substr(begin, end - begin));
      const auto element_end = ends->find(i - begin);
      if (element_end != ends->end())
        tag = {.length = element_end->second - (i - begin)};
      else
        content = HtmlContent::translated;
    }
    const bool is_time = marks == TextMarks::cues && tag.length > 1 && is_ascii_digit(rest[1]),
               holds_conversion = marks == TextMarks::messages && content != HtmlContent::translated &&
                                  has_ordered_conversion(rest.substr(0, tag.length));
    const bool after_mark = !found.empty() && found.back().end == i;
    const char before = i > begin && !after_mark ? bytes[i - 1] : ' ';
    const Mark mark =
        tag.length > 0 ? Mark{tag.length, is_time || holds_conversion} : mark_at(rest, before, marks);
    if (mark.length == 0) {
      ++i;
      continue;
    }
    found.push_back({.begin = i, .end = i + mark.length});
    found.back().keeps_order = mark.keeps_order;
    if (marks == TextMarks::subtitles && rest.starts_with(arrow)) found.back().kind = PieceKind::boundary;
    const bool stands_for_sign = rest.starts_with("%%") || (mark.length == 2 && double_braces_at(rest) == 2);
    found.back().placeholder =
        are_messages(marks) && (tag.length == 0 ? !stands_for_sign : content == HtmlContent::words);
    if (tag.length == 0 && are_messages(marks))
      include_pairs_around(bytes, found.size() > 1 ? found[found.size() - 2].end : begin, end, found.back());
    i = found.back().end;
    if (tag.length == 0 || tag.name.empty()) continue;
    const bool ends_itself = marks != TextMarks::cues && bytes[i - 2] == '/';
    if (marks == TextMarks::cues ? tag.name == "v" : tag.name == "br" || tag.name == "p") {
      found.back().kind = PieceKind::boundary;
    } else if (!tag.closes && !ends_itself) {
      open.emplace_back(tag.name, found.size() - 1);
    } else if (tag.closes && !open.empty() && open.back().first == tag.name) {
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

std::optional<std::vector<std::string>> placeholders_of(std::string_view text, TextMarks marks,
                                                        std::string_view signs) {
  std::vector<std::string> placeholders;
  size_t written = 0;
  const auto has_sign = [&](size_t begin, size_t end) {
    return text.substr(begin, end - begin).find_first_of(signs) != text.npos;
  };
  for (const FoundMark& mark : find_marks(text, 0, text.size(), marks)) {
    if (has_sign(written, mark.begin)) return {};
    written = mark.end;
    if (!has_sign(mark.begin, mark.end)) continue;
    std::string_view placeholder = text.substr(mark.begin, mark.end - mark.begin);
    while (placeholder.size() > 2 && are_pair(placeholder.front(), placeholder.back()))
      placeholder = placeholder.substr(1, placeholder.size() - 2);
    placeholders.emplace_back(placeholder);
  }
  if (has_sign(written, text.size())) return {};
  std::ranges::sort(placeholders);
  return placeholders;
}

void add_marked_text(const MarkupSource& source, size_t begin, size_t end, TextMarks marks, PieceList& pieces) {
  const std::vector<FoundMark> found = find_marks(source.bytes, begin, end, marks);
  std::vector<size_t> added;
  for (const FoundMark& mark : found) {
    pieces.add_text(begin, mark.begin, /*keeps_space=*/false);
    added.push_back(pieces.add(mark.kind, mark.begin, mark.end));
    if (mark.placeholder) pieces.stands_for_words();
    if (mark.keeps_order) pieces.keep_order();
    begin = mark.end;
  }
  pieces.add_text(begin, end, /*keeps_space=*/false);
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i].partner != Piece::none) pieces.make_partners(added[i], added[found[i].partner]);
}

}  // namespace sixfold
