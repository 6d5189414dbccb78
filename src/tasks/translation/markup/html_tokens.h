#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// A token of HTML (the HTML standard, 13.2.5).
struct HtmlToken {
  enum class Kind {
    text,
    start_tag,
    end_tag,
    other,  ///< a comment, a doctype, a processing instruction, or an incomplete tag at the end
  };

  Kind kind = Kind::other;
  size_t begin = 0, end = 0;  ///< bytes of the document
  // The following members describe a tag.
  std::string name;  ///< in lower case
  bool self_closing = false;
  std::optional<bool> translate;  ///< from translate="yes|no", or else from class="notranslate"
};

/// How the content of an element is treated in the text in which it stands.
enum class HtmlContent {
  translated,
  words,  ///< not translated, and stands for words of the text, such as code
  aside,  ///< not translated, and no part of the text, such as a script
};
HtmlContent content_of(std::string_view start_tag);

/// Divides HTML into tokens, in the order of the document. Every byte is part of exactly one token. Any bytes
/// are accepted. Takes linear time.
class HtmlTokenizer {
 public:
  explicit HtmlTokenizer(std::string_view html) : html_(html) {}

  /// Reads the next token; returns false at the end. `foreign`: whether it is in SVG or MathML, which may
  /// have CDATA sections.
  bool next(HtmlToken& token, bool foreign);

  /// Reads text up to the end tag `name`, or to the end of the document, as the content of elements such as
  /// <title>, <style> and <script>. Returns the position of its end.
  size_t skip_raw_text(std::string_view name);
  /// Reads the rest of the document.
  size_t skip_rest() { return position_ = html_.size(); }

 private:
  bool at(size_t position, std::string_view text) const { return html_.substr(position).starts_with(text); }
  bool at_name(size_t position, std::string_view name) const;
  size_t past(size_t position, std::string_view end) const;
  size_t past_comment(size_t begin) const;
  size_t end_of_script() const;
  bool starts_markup(size_t position) const;
  void read_markup(HtmlToken& token, bool foreign);
  void read_tag(HtmlToken& token, size_t name);
  bool read_attribute(HtmlToken& token, bool& class_seen);

  std::string_view html_;
  size_t position_ = 0;
  std::optional<bool> by_class_;  // from the class attribute of the current tag
};

}  // namespace sixfold
