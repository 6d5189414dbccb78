#include "tasks/translation/markup/html_tokens.h"

#include <algorithm>

#include "base/ascii.h"
#include "tasks/translation/markup/html_elements.h"

namespace sixfold {
namespace {

constexpr std::string_view html_space = " \t\n\f\r";

bool is_space(char c) { return html_space.find(c) != html_space.npos; }

bool has_class(std::string_view classes, std::string_view name) {
  while (!classes.empty()) {
    const size_t size = std::min(classes.find_first_of(html_space), classes.size());
    if (classes.substr(0, size) == name) return true;
    classes.remove_prefix(std::min(size + 1, classes.size()));
  }
  return false;
}

}  // namespace

/// Whether this tag name, in lower case, is at a position and ends there.
bool HtmlTokenizer::at_name(size_t position, std::string_view name) const {
  if (html_.size() - position <= name.size()) return false;
  for (size_t i = 0; i < name.size(); ++i)
    if (ascii_lower(html_[position + i]) != name[i]) return false;
  const char next = html_[position + name.size()];
  return is_space(next) || next == '/' || next == '>';
}

/// The position after the next `end`, or the end of the document.
size_t HtmlTokenizer::past(size_t position, std::string_view end) const {
  const size_t found = html_.find(end, position);
  return found == html_.npos ? html_.size() : found + end.size();
}

/// The position after a comment. `begin` is after "<!--".
size_t HtmlTokenizer::past_comment(size_t begin) const {
  if (at(begin, ">")) return begin + 1;
  if (at(begin, "->")) return begin + 2;
  for (size_t i = begin; (i = html_.find("--", i)) != html_.npos; ++i) {
    if (at(i + 2, ">")) return i + 3;
    if (at(i + 2, "!>")) return i + 4;
  }
  return html_.size();
}

/// Whether '<' at `position` begins anything but text.
bool HtmlTokenizer::starts_markup(size_t position) const {
  if (position + 1 >= html_.size()) return false;
  const char next = html_[position + 1];
  if (next == '/') return position + 2 < html_.size();
  return is_ascii_letter(next) || next == '!' || next == '?';
}

bool HtmlTokenizer::next(HtmlToken& token, bool foreign) {
  if (position_ >= html_.size()) return false;
  token.kind = HtmlToken::Kind::text;
  token.begin = position_;
  if (html_[position_] == '<' && starts_markup(position_)) {
    read_markup(token, foreign);
  } else {
    do position_ = std::min(html_.find('<', position_ + 1), html_.size());
    while (position_ < html_.size() && !starts_markup(position_));
  }
  token.end = position_;
  return true;
}

/// Reads a token that begins with '<' and is not text.
void HtmlTokenizer::read_markup(HtmlToken& token, bool foreign) {
  token.kind = HtmlToken::Kind::other;
  const size_t begin = position_;
  const char next = html_[begin + 1];
  if (is_ascii_letter(next)) {
    token.kind = HtmlToken::Kind::start_tag;
    read_tag(token, begin + 1);
  } else if (next == '/' && is_ascii_letter(html_[begin + 2])) {
    token.kind = HtmlToken::Kind::end_tag;
    read_tag(token, begin + 2);
  } else if (at(begin, "<!--")) {
    position_ = past_comment(begin + 4);
  } else if (foreign && at(begin, "<![CDATA[")) {
    position_ = past(begin, "]]>");
  } else {
    position_ = past(begin, ">");
  }
}

/// Reads a tag whose name begins at `name`.
void HtmlTokenizer::read_tag(HtmlToken& token, size_t name) {
  position_ = std::min(html_.find_first_of(" \t\n\f\r/>", name), html_.size());
  token.name = ascii_lower(html_.substr(name, position_ - name));
  token.self_closing = false;
  token.translate = by_class_ = std::nullopt;
  bool class_seen = false;
  while (read_attribute(token, class_seen)) {
  }
  if (!token.translate) token.translate = by_class_;
}

/// Reads the next attribute of a tag. If there is none, reads the end of the tag and returns false.
bool HtmlTokenizer::read_attribute(HtmlToken& token, bool& class_seen) {
  bool slash = false;
  while (position_ < html_.size() && (is_space(html_[position_]) || html_[position_] == '/'))
    slash = html_[position_++] == '/';
  if (position_ >= html_.size()) {
    token.kind = HtmlToken::Kind::other;
    return false;
  }
  if (html_[position_] == '>') {
    ++position_;
    token.self_closing = slash;
    return false;
  }
  const size_t begin = position_;
  position_ = std::min(html_.find_first_of(" \t\n\f\r/>=", begin + 1), html_.size());
  const std::string name = ascii_lower(html_.substr(begin, position_ - begin));
  const size_t equals = html_.find_first_not_of(html_space, position_);
  if (equals == html_.npos || html_[equals] != '=') {
    if (name == "translate" && !token.translate) token.translate = true;  // the empty value
    return true;
  }
  size_t value = std::min(html_.find_first_not_of(html_space, equals + 1), html_.size()), end;
  if (value < html_.size() && (html_[value] == '"' || html_[value] == '\'')) {
    end = std::min(html_.find(html_[value], value + 1), html_.size());
    position_ = std::min(end + 1, html_.size());
    ++value;
  } else {
    position_ = end = std::min(html_.find_first_of(" \t\n\f\r>", value), html_.size());
  }
  const std::string_view text = html_.substr(value, end - value);
  if (name == "translate" && !token.translate) {
    const std::string word = ascii_lower(text);
    if (word == "no") token.translate = false;
    if (word == "yes" || word.empty()) token.translate = true;
  } else if (name == "class" && !class_seen) {
    class_seen = true;
    if (has_class(text, "notranslate")) by_class_ = false;
  }
  return true;
}

/// The position of the end tag of a script that begins at `position_`. A script may contain "<!--", and
/// after it a "<script" with its own end tag (13.2.5.17 ff.).
size_t HtmlTokenizer::end_of_script() const {
  bool escaped = false, double_escaped = false;
  for (size_t i = position_; (i = html_.find_first_of("<-", i)) != html_.npos; ++i) {
    if (at(i, "<!--") && !escaped) {
      escaped = true;
      i += 1;  // "<!-->" is a whole comment
    } else if (at(i, "-->") && escaped) {
      escaped = double_escaped = false;
    } else if (at(i, "</") && at_name(i + 2, "script")) {
      if (!double_escaped) return i;
      double_escaped = false;
    } else if (escaped && html_[i] == '<' && at_name(i + 1, "script")) {
      double_escaped = true;
    }
  }
  return html_.size();
}

size_t HtmlTokenizer::skip_raw_text(std::string_view name) {
  if (name == "script") return position_ = end_of_script();
  while ((position_ = std::min(html_.find("</", position_), html_.size())) < html_.size() &&
         !at_name(position_ + 2, name))
    ++position_;
  return position_;
}

HtmlContent content_of(std::string_view start_tag) {
  HtmlToken token;
  if (!HtmlTokenizer(start_tag).next(token, false) || token.kind != HtmlToken::Kind::start_tag)
    return HtmlContent::translated;
  const uint32_t traits = html_traits(token.name);
  if (token.translate.value_or((traits & (html_untranslated | html_aside)) == 0))
    return HtmlContent::translated;
  return traits & html_aside ? HtmlContent::aside : HtmlContent::words;
}

}  // namespace sixfold
