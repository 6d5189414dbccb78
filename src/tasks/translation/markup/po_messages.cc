#include "tasks/translation/markup/po_messages.h"

#include <algorithm>

#include "base/ascii.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

bool is_octal(char c) { return '0' <= c && c <= '7'; }

/// What stands for values in the messages of a language, by the end of the name of its format.
struct MessageFormat {
  std::string_view name;
  bool has_percent_signs;  ///< '%' may begin a placeholder
  std::string_view signs;  ///< those that are always part of a placeholder, or an error
};

const MessageFormat& format_of(std::string_view flag) {
  static constexpr MessageFormat formats[] = {
      {"brace-format", false, "{}"},  {"csharp-format", false, "{}"}, {"java-format", false, "{}"},
      {"c++-format", false, "{}"},    {"sh-format", false, "$"},      {"qt-format", true, ""},
      {"qt-plural-format", true, ""}, {"kde-format", true, ""},       {"kde-kuit-format", true, ""},
      {"boost-format", true, ""},     {"-format", true, "%"}};  // those of printf, as most are
  return *std::ranges::find_if(formats, [&](const MessageFormat& one) { return flag.ends_with(one.name); });
}

class PoReader {
 public:
  explicit PoReader(const MarkupSource& source) : source_(source) {}

  std::vector<PoMessage> read() {
    const std::string_view bytes = source_.bytes;
    for (size_t begin = bytes.starts_with("\uFEFF") ? 3 : 0; begin < bytes.size();) {
      const size_t end = std::min(bytes.find('\n', begin), bytes.size());
      read_line(begin, end);
      begin = end + 1;
    }
    require_complete(bytes.size());
    check_encoding();
    return std::move(messages_);
  }

 private:
  enum class Field { none, other, context, id, plural, translation };

  [[noreturn]] void refuse(size_t at, const char* what) const { throw_markup_error(source_, at, "{}", what); }

  void read_line(size_t begin, size_t end) {
    const std::string_view line = trim_spaces(source_.bytes.substr(begin, end - begin));
    if (line.empty()) return;
    const auto at = static_cast<size_t>(line.data() - source_.bytes.data());
    if (line.starts_with('#')) {
      if (line.starts_with("#,"))
        add_flags(line.substr(2));
      else if (line.starts_with("#~"))  // an obsolete message
        flags_.clear();
      field_ = Field::none;
      return;
    }
    if (!line.starts_with('"')) begin_field(line.substr(0, line.find_first_of("\" \t")), at);
    if (field_ == Field::none) refuse(at, "a string belongs to no keyword");
    const size_t quote = line.find('"');
    if (quote == std::string_view::npos) refuse(at, "a keyword has no string in quotation marks");
    add_literal(at + quote, at + line.size());
  }

  void add_flags(std::string_view list) {
    while (!list.empty()) {
      const size_t size = std::min(list.find(','), list.size());
      flags_.emplace_back(trim_spaces(list.substr(0, size)));
      list.remove_prefix(std::min(size + 1, list.size()));
    }
  }

  void begin_field(std::string_view keyword, size_t at) {
    const bool translation = keyword == "msgstr" || (keyword.starts_with("msgstr[") && keyword.ends_with("]"));
    if (keyword == "msgctxt" || (keyword == "msgid" && field_ != Field::context)) {
      require_complete(at);
      PoMessage& message = messages_.emplace_back();
      bool refuses_percent_signs = false, has_percent_signs = false;
      for (const std::string& flag : flags_) {
        if (!flag.ends_with("-format")) continue;
        const MessageFormat& format = format_of(flag);
        const bool is_no_format = flag.starts_with("no-");
        (is_no_format ? refuses_percent_signs : has_percent_signs) |= format.has_percent_signs;
        if (!is_no_format && message.format_signs.empty()) message.format_signs = format.signs;
      }
      message.has_percent_signs = refuses_percent_signs && !has_percent_signs;
      flags_.clear();
      has_message_ = true;
    }
    if (keyword == "msgctxt") {
      field_ = Field::context;
      messages_.back().has_context = true;
    } else if (keyword == "msgid") {
      field_ = Field::id;
    } else if (keyword == "msgid_plural" && field_ == Field::id) {
      field_ = Field::plural;
    } else if (translation && has_message_ && field_ != Field::context) {
      field_ = Field::translation;
      messages_.back().translations.emplace_back();
    } else if (keyword == "domain") {
      field_ = Field::other;
    } else {
      refuse(at, "is not what a PO file has here: a comment, msgctxt, msgid, msgid_plural or msgstr");
    }
  }

  void require_complete(size_t at) {
    if (has_message_ && messages_.back().translations.empty()) refuse(at, "the message before has no msgstr");
  }

  /// Adds the literal from its quotation mark at `begin` on. It must end at `end`.
  void add_literal(size_t begin, size_t end) {
    std::string text;
    size_t i = begin + 1;
    while (i < end && source_.bytes[i] != '"') {
      if (source_.bytes[i] == '\\')
        text += decode_escape(i, end);
      else
        text += source_.bytes[i++];
    }
    if (i + 1 != end) refuse(i, "a string ends here, but its line does not, or it has no end");
    if (first_invalid_utf8(text) || text.find('\0') != text.npos)
      refuse(begin, "the escapes of the string are not valid UTF-8 text");
    switch (field_) {
      case Field::context:
        messages_.back().context += text;
        break;
      case Field::plural:
        messages_.back().plural += text;
        break;
      case Field::id:
        add(messages_.back().id, text, begin, end);
        break;
      case Field::translation:
        add(messages_.back().translations.back(), text, begin, end);
        break;
      case Field::none:
      case Field::other:
        break;
    }
  }

  static void add(PoString& string, const std::string& text, size_t begin, size_t end) {
    if (string.end == 0) string.begin = begin;
    string.end = end;
    string.text += text;
  }

  /// Decodes the escape at `i`, and moves `i` after it.
  char decode_escape(size_t& i, size_t end) const {
    const size_t begin = i++;
    if (i == end) refuse(begin, "a string has no end");
    const char c = source_.bytes[i++];
    constexpr std::string_view names = "abfnrtv\\\"'?", values = "\a\b\f\n\r\t\v\\\"'?";
    if (const size_t known = names.find(c); known != names.npos) return values[known];
    int value = 0;
    if (is_octal(c)) {
      value = c - '0';
      for (int more = 0; more < 2 && i < end && is_octal(source_.bytes[i]); ++more)
        value = 8 * value + (source_.bytes[i++] - '0');
    } else if (c == 'x' && i < end && hex_digit(source_.bytes[i]) >= 0) {
      for (int more = 0; more < 2 && i < end && hex_digit(source_.bytes[i]) >= 0; ++more)
        value = 16 * value + hex_digit(source_.bytes[i++]);
    } else {
      refuse(begin, "is not a valid escape sequence of a PO file");
    }
    return static_cast<char>(value & 0xFF);
  }

  void check_encoding() const {
    for (const PoMessage& message : messages_) {
      if (!message.is_header()) continue;
      const std::string& header = message.translations.front().text;
      const size_t at = header.find("charset=");
      if (at == header.npos) return;
      const std::string name = ascii_upper(header.substr(at + 8, header.find_first_of(" ;\n", at) - at - 8));
      if (name != "UTF-8" && name != "UTF8" && name != "CHARSET" && name != "ASCII" && name != "US-ASCII")
        throw_markup_error(source_, message.id.begin, "the file is in {}; convert it with msgconv -t UTF-8",
                           name);
      return;
    }
  }

  const MarkupSource& source_;
  std::vector<PoMessage> messages_;
  Field field_ = Field::none;       // the field of the next literal
  bool has_message_ = false;        // whether a message has begun
  std::vector<std::string> flags_;  // of the next message
};

}  // namespace

bool PoMessage::is_translated() const {
  return std::any_of(translations.begin(), translations.end(),
                     [](const PoString& translation) { return !translation.text.empty(); });
}

std::vector<PoMessage> read_po(const MarkupSource& source) { return PoReader(source).read(); }

std::string po_literals(const std::string& text, const std::string& line_end) {
  const bool multiline = text.find('\n') < text.size() - 1 && !text.empty();
  std::string literals = multiline ? "\"\"" + line_end + "\"" : "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n')
      literals += multiline && i + 1 < text.size() ? "\\n\"" + line_end + "\"" : "\\n";
    else if (c == '\t')
      literals += "\\t";
    else if (c == '"' || c == '\\')
      literals += std::string("\\") + c;
    else if (c >= 0 && (c < ' ' || c == 0x7F))
      literals += fmt::format("\\{:03o}", static_cast<int>(c));
    else
      literals += c;
  }
  return literals + "\"";
}

}  // namespace sixfold
