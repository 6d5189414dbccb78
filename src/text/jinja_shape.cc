#include "text/jinja_shape.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace sixfold {
namespace {

constexpr int max_depth = 64;

/// Conditions and statements in the spelling of shapes. The conditions are false, or true, in a conversation of
/// the system, the user and the assistant without tools, whose next message is the assistant's.
constexpr std::string_view false_conditions[] = {
    "tools",
    "tools is not none",
    "tools is not none and not tools_in_user_message",
    "tools_in_user_message and not tools is none",
    "custom_tools is defined",
    "builtin_tools is defined",
    "builtin_tools is defined or tools is not none",
    "message.role==\1tool\1",
    "message.role==\1tool\1 or message.role==\1ipython\1",
    "\1tool_calls\1 in message",
    "message.tool_calls",
    "message.role==\1system\1 and \1tools\1 in message and message.tools is not none",
    "message.reasoning_content is string",
    "message.reasoning_content is defined and message.reasoning_content is not none",
    "enable_thinking is defined and enable_thinking is false",
    "not add_generation_prompt is defined",
};
constexpr std::string_view true_conditions[] = {
    "add_generation_prompt",
    "message.content is string",
    "not tools is defined",
    "not tools_in_user_message is defined",
    "not date_string is defined",
    "not(message.role==\1ipython\1 or message.role==\1tool\1 or \1tool_calls\1 in message)",
};
constexpr std::string_view ignored_statements[] = {"set tools=none", "set tools_in_user_message=true"};
constexpr std::string_view empty_loops[] = {"for tool_call in message.tool_calls", "for tool in tools"};

bool is_one_of(std::string_view text, auto&& list) { return std::ranges::count(list, text) > 0; }
bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }
bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// A tag, or the text between two tags, which is treated as an output of this text.
struct Part {
  enum Kind { output, statement } kind = output;
  std::vector<std::string> words;  ///< of the expression or statement
  std::string joined() const {
    std::string all;
    for (const std::string& word : words) {
      const auto joins = [](char c) { return is_name_character(c) || c == text_mark; };
      if (!all.empty() && joins(all.back()) && joins(word.front())) all += ' ';
      all += word;
    }
    return all;
  }
};

/// Reads the parts of a template.
class JinjaReader {
 public:
  explicit JinjaReader(std::string_view jinja) : rest_(jinja) {
    if (rest_.ends_with('\n')) rest_.remove_suffix(1);
  }

  /// Returns false if the template has a syntax that is not known.
  bool read(std::vector<Part>& parts) {
    while (true) {
      size_t tag = rest_.find('{');
      while (tag < rest_.size() && !is_one_of(rest_.substr(tag, 2), tag_begins)) tag = rest_.find('{', tag + 1);
      const bool ends = tag >= rest_.size();
      const char kind = ends ? 0 : rest_[tag + 1];
      const bool strips = !ends && rest_.substr(tag + 2).starts_with('-');
      add_text(rest_.substr(0, tag), strips, kind == '%' || kind == '#', parts);
      if (ends) return true;
      rest_.remove_prefix(tag + (strips ? 3 : 2));
      if (kind == '#' ? !skip_comment() : !read_tag(kind, parts)) return false;
    }
  }

 private:
  static constexpr std::string_view tag_begins[] = {"{{", "{%", "{#"};

  void add_text(std::string_view text, bool strips_end, bool before_block, std::vector<Part>& parts) {
    if (strips_) text.remove_prefix(std::min(text.find_first_not_of(" \n\t"), text.size()));
    if (strips_end) {
      text = text.substr(0, text.find_last_not_of(" \n\t") + 1);
    } else if (before_block) {
      const size_t line = text.rfind('\n') + 1;  // 0 if there is none
      if ((line > 0 || line_begins_) && text.find_first_not_of(" \t", line) == text.npos)
        text = text.substr(0, line);
    }
    if (!text.empty()) parts.push_back({Part::output, {text_mark + std::string(text) + text_mark}});
  }

  /// Removes the white space that belongs to the tag before it.
  void end_tag(bool strips, bool block) {
    strips_ = strips;
    line_begins_ = block && !strips && rest_.starts_with('\n');
    if (line_begins_) rest_.remove_prefix(1);
  }

  bool skip_comment() {
    const size_t end = rest_.find("#}");
    if (end == rest_.npos) return false;
    const bool strips = end > 0 && rest_[end - 1] == '-';
    rest_.remove_prefix(end + 2);
    end_tag(strips, true);
    return true;
  }

  bool read_tag(char kind, std::vector<Part>& parts) {
    Part part{kind == '%' ? Part::statement : Part::output, {}};
    const std::string end = kind == '%' ? "%}" : "}}";
    while (!rest_.empty()) {
      if (is_space(rest_[0])) {
        rest_.remove_prefix(1);
        continue;
      }
      const bool strips = rest_.starts_with('-') && rest_.substr(1).starts_with(end);
      if (strips || rest_.starts_with(end)) {
        rest_.remove_prefix(strips ? 3 : 2);
        end_tag(strips, kind == '%');
        parts.push_back(std::move(part));
        return !parts.back().words.empty();
      }
      if (!read_word(part.words)) return false;
    }
    return false;
  }

  bool read_word(std::vector<std::string>& words) {
    const char c = rest_[0];
    if (c == '\'' || c == '"') return read_text(words);
    size_t size = 1;
    if (is_name_character(c)) {
      while (size < rest_.size() && is_name_character(rest_[size])) ++size;
    } else if (rest_.substr(1).starts_with('=') || rest_.starts_with("//") || rest_.starts_with("**")) {
      size = 2;
    }
    words.emplace_back(rest_.substr(0, size));
    rest_.remove_prefix(size);
    shorten(words);
    return true;
  }

  bool read_text(std::vector<std::string>& words) {
    const char quote = rest_[0];
    std::string text;
    size_t at = 1;
    for (; at < rest_.size() && rest_[at] != quote; ++at) {
      if (rest_[at] != '\\') {
        text += rest_[at];
        continue;
      }
      if (++at == rest_.size()) return false;
      const char c = rest_[at];
      if (c != 'n' && c != 't' && c != '\\' && c != '\'' && c != '"') return false;
      text += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    if (at == rest_.size()) return false;
    rest_.remove_prefix(at + 1);
    words.push_back(text_mark + text + text_mark);
    return true;
  }

  /// Writes an element as an attribute, x['role'] as x.role, and leaves out parentheses around a comparison.
  static void shorten(std::vector<std::string>& words) {
    const auto last = [&](size_t back) -> std::string_view {
      return words.size() < back ? std::string_view() : words[words.size() - back];
    };
    if (last(1) == "]" && last(3) == "[" && last(2).size() > 2 && last(2).front() == text_mark &&
        !last(4).empty() && (is_name_character(last(4).back()) || last(4) == "]")) {
      const std::string name(last(2).substr(1, last(2).size() - 2));
      if (!std::ranges::all_of(name, is_name_character)) return;
      words.resize(words.size() - 3);
      words.insert(words.end(), {".", name});
    }
    // ( message . role == text )
    static constexpr std::string_view before[] = {"if", "elif", "or", "and"};
    if (last(1) == ")" && last(2).starts_with(text_mark) && last(3) == "==" && last(5) == "." &&
        last(7) == "(" && is_one_of(last(8), before)) {
      words.pop_back();
      words.erase(words.end() - 6);
    }
  }

  std::string_view rest_;
  bool strips_ = false, line_begins_ = true;
};

/// Writes the parts of a template that have an effect on conversations without tools.
class ShapeWriter {
 public:
  explicit ShapeWriter(std::vector<Part> parts) : parts_(std::move(parts)) {}

  std::optional<JinjaShape> write() {
    if (!parts_.empty() && parts_[0].kind == Part::output && parts_[0].words[0] == "bos_token" &&
        (parts_[0].words.size() == 1 || parts_[0].words[1] == "+")) {
      shape_.starts = true;
      auto& words = parts_[0].words;
      words.erase(words.begin(), words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)));
      if (words.empty()) parts_.erase(parts_.begin());
    }
    if (!write_block(true, 0) || at_ < parts_.size()) return {};
    return std::move(shape_);
  }

 private:
  /// Writes the parts up to a statement that ends a block, or to the end; skips them unless `writes`.
  bool write_block(bool writes, int depth) {
    if (depth > max_depth) return false;
    for (; at_ < parts_.size(); ++at_) {
      const Part& part = parts_[at_];
      const std::string& first = part.words[0];
      if (part.kind == Part::output) {
        if (writes) add_output(part);
      } else if (first == "if") {
        if (!write_choice(writes, depth)) return false;
      } else if (first == "for") {
        if (!write_loop(writes, depth)) return false;
      } else if (first == "set") {
        if (const std::string text = part.joined(); writes && !is_one_of(text, ignored_statements)) add(text);
      } else {
        return first == "elif" || first == "else" || first == "endif" || first == "endfor";
      }
    }
    return true;
  }

  bool at_statement(std::string_view first) const {
    return at_ < parts_.size() && parts_[at_].kind == Part::statement && parts_[at_].words[0] == first;
  }
  bool at_end(std::string_view statement) const {
    return at_statement(statement) && parts_[at_].words.size() == 1;
  }

  bool write_loop(bool writes, int depth) {
    const std::string loop = parts_[at_++].joined();
    writes = writes && !is_one_of(loop, empty_loops);
    if (writes) add(loop);
    if (!write_block(writes, depth + 1) || !at_end("endfor")) return false;
    if (writes) add("endfor");
    return true;
  }

  /// Writes the branches of an "if" that may be taken.
  bool write_choice(bool writes, int depth) {
    bool begun = false, done = !writes;  // whether an "if" was written; whether no other branch is taken
    for (bool first = true; first || at_statement("elif") || at_statement("else"); first = false) {
      const bool otherwise = !first && at_statement("else");
      Part condition = parts_[at_++];
      condition.words.erase(condition.words.begin());
      const std::string text = condition.joined();
      if (otherwise != text.empty()) return false;
      const bool always = otherwise || is_one_of(text, true_conditions);
      const bool taken = !done && !is_one_of(text, false_conditions);
      if (taken && (begun || !always)) add(always ? "else" : (begun ? "elif " : "if ") + text);
      begun = begun || (taken && !always);
      done = done || (taken && always);
      if (!write_block(taken, depth + 1)) return false;
      if (otherwise) break;
    }
    if (!at_end("endif")) return false;
    if (begun) add("endif");
    return true;
  }

  void add(const std::string& statement) {
    shape_.text.append("{%").append(statement).append("%}");
    within_output_ = false;
  }

  /// Joins outputs that follow each other.
  void add_output(const Part& part) {
    std::string& all = shape_.text;
    if (!within_output_)
      all += "{{";
    else
      all.resize(all.size() - 2), all += '+';
    within_output_ = true;
    all.append(part.joined()).append("}}");
  }

  std::vector<Part> parts_;
  size_t at_ = 0;
  bool within_output_ = false;
  JinjaShape shape_;
};

/// Joins texts that are concatenated by "+".
std::string with_joined_texts(std::string_view shape) {
  constexpr std::string_view join = "\1+\1";
  std::string joined;
  bool within = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (within && shape.substr(i).starts_with(join)) {
      i += join.size() - 1;
      continue;
    }
    if (shape[i] == text_mark) within = !within;
    joined += shape[i];
  }
  return joined;
}

}  // namespace

std::optional<JinjaShape> jinja_shape(std::string_view jinja) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t'; };
  if (std::ranges::any_of(jinja, is_control)) return {};
  std::vector<Part> parts;
  if (!JinjaReader(jinja).read(parts)) return {};
  auto shape = ShapeWriter(std::move(parts)).write();
  if (shape) shape->text = with_joined_texts(shape->text);
  return shape;
}

}  // namespace sixfold
