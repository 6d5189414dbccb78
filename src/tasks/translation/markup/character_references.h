#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

namespace sixfold {

/// A plain document has no references: its text is what is written. Cues, those of WebVTT, have those of HTML,
/// and XLIFF has those of XML. Markdown has those of HTML that end in ";", and backslashes before signs.
enum class MarkupLanguage { html, xml, plain, cues, xliff, markdown };

/// Decodes the character references of text: &amp; &#233; &nbsp; and so on. For one thread at a time.
///
/// For HTML the names and the rules are those of the HTML standard (13.2.5.72 ff.), which gumbo knows. For XML
/// they are numbers and the five names that need no declaration.
class CharacterReferences {
 public:
  explicit CharacterReferences(MarkupLanguage language) : language_(language) {}

  /// The number of bytes at the beginning of `text`, which begins with '&', that may be a reference: "&",
  /// letters, digits and "#", and ";" if it follows.
  static size_t length(std::string_view text);

  /// Decodes what `length` found. A part that is not a reference is returned as it is: "&notit;" is "¬it;".
  const std::string& decode(std::string_view reference);

  /// Decodes text of any length.
  std::string decode_text(std::string_view text);

 private:
  MarkupLanguage language_;
  std::string plain_;                                     // what was decoded last, of a plain document
  std::unordered_map<std::string, std::string> decoded_;  // references that were decoded before
};

/// Text for a document, HTML or XML: `&`, `<` and `>` become references. What neither may contain, control
/// characters and bytes that are not valid UTF-8, is replaced by U+FFFD.
std::string escape_markup(std::string_view text);

/// Text for Markdown: a backslash stands before each sign that would be a mark there. `before` is the character
/// before the text, or a line end.
std::string escape_markdown(std::string_view text, char before);

}  // namespace sixfold
