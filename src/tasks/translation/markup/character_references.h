#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

namespace sixfold {

/// The syntax of character references. A plain document has none. The cues of WebVTT have the references of
/// HTML, and XLIFF those of XML. Markdown has those of HTML that end in ";", and backslash escapes.
enum class MarkupLanguage { html, xml, plain, cues, xliff, markdown };

/// Decodes the character references of text: &amp; &#233; &nbsp; and so on. Not thread-safe.
///
/// For HTML, gumbo implements the names and the rules of the HTML standard (13.2.5.72 ff.). For XML, there are
/// numeric references and the five predefined entities.
class CharacterReferences {
 public:
  explicit CharacterReferences(MarkupLanguage language) : language_(language) {}

  /// The number of bytes at the beginning of `text`, which begins with '&', that may be a reference: "&",
  /// letters, digits and "#", and ";" if it follows.
  static size_t length(std::string_view text);

  /// Decodes the bytes that `length` found. Bytes that are no part of a reference stay unchanged: "&notit;"
  /// becomes "¬it;".
  const std::string& decode(std::string_view reference);

  /// Decodes text of any length.
  std::string decode_text(std::string_view text);

 private:
  MarkupLanguage language_;
  std::string plain_;                                     // the result of `decode` for a plain document
  std::unordered_map<std::string, std::string> decoded_;  // cached results of `decode`
};

/// Escapes text for HTML or XML: `&`, `<` and `>` become references. Control characters and bytes that are not
/// valid UTF-8, which neither may contain, are replaced by U+FFFD.
std::string escape_markup(std::string_view text);

/// Escapes text for Markdown, with a backslash before each character that would be markup. `before`: the
/// character before the text, or a line end.
std::string escape_markdown(std::string_view text, char before);

}  // namespace sixfold
