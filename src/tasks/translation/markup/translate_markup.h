#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/api.h"

namespace sixfold {

/// The translation of a text.
struct TranslatedText {
  std::string text;
  /// Pairs of a source word and a word of the translation, counted from 0, as in `Translation::alignment`.
  /// Words are those of `word_parts` (text/words.h). Pairs of words that do not exist are ignored. The
  /// alignment determines the positions of inline elements.
  std::vector<std::pair<int, int>> alignment = {};
};

/// Translates texts: returns a translation for each, in the same order. A text has no line ends; it may have
/// several sentences.
struct TextTranslator : std::function<std::vector<TranslatedText>(const std::vector<std::string>& texts)> {
  using function::function;

  /// Returns a placeholder for parts within a text that are not translated, such as code: a word that
  /// translations usually copy unchanged. If the function or the word is empty, no placeholders are used.
  std::function<std::string()> placeholder = {};

  /// Codes of the languages of the texts and of their translations, such as "en"; empty: not known. They are
  /// compared with those that a document declares (XLIFF).
  std::string source_language = {}, target_language = {};
};

/// Options for finding the texts of an XML document. Names of elements are compared as written, including their
/// prefix.
struct XmlOptions {
  /// Whether the structure determines which elements are inline: the children of elements that contain text,
  /// except those that contain two or more elements and no text. If false, all elements are inline.
  bool outline_detection = true;
  std::vector<std::string> splitting_tags = {};  ///< elements that end a text
  std::vector<std::string> non_splitting_tags =
      {};                                     ///< elements that are inline, unless `splitting_tags` has them
  std::vector<std::string> ignore_tags = {};  ///< elements whose content is not translated
};

/// Translates the text of an HTML document, or of a part of one (docs/markup.md). Everything else keeps its
/// bytes: tags, attributes, comments, scripts, code and content with translate="no". The word alignment
/// determines the positions of inline elements within a text. A text that equals its translation keeps its
/// bytes as well. Takes time linear in the size of the document.
///
/// `translate` is called once with all texts, or not at all if there are none. `name`: the name of the document
/// in messages. Throws an input error with line and column if the document has more than 2^26 bytes, is not
/// valid UTF-8, contains NUL, or has more than 512 elements nested in each other. Rethrows what `translate`
/// throws. Safe to call from several threads.
SIXFOLD_API std::string translate_html(std::string_view html, const TextTranslator& translate,
                                       const std::string& name = "the HTML document");

/// The same for XML. A document may have several roots, and text between them. Also throws an input error if it
/// is not well-formed.
SIXFOLD_API std::string translate_xml(std::string_view xml, const TextTranslator& translate,
                                      const XmlOptions& options = {},
                                      const std::string& name = "the XML document");

/// The same for subtitles (SubRip). Numbers, times, positions and tags keep their bytes. The lines of a
/// subtitle are one text, except that a line with a leading dash begins a new text. The translation of a text
/// has as many lines as the text. Also throws an input error for text before the first times.
SIXFOLD_API std::string translate_srt(std::string_view srt, const TextTranslator& translate,
                                      const std::string& name = "the subtitles");

/// The same for subtitles of the web (WebVTT). Only the texts of cues are translated, as in
/// `translate_srt`. Everything else keeps its bytes: times, settings, names, and blocks that are no cues. A
/// voice tag
/// (<v>) ends a text. Times within a text keep their order. A translation without a visible character becomes
/// U+00A0, since an empty line would end the cue. Also throws an input error for a document that does not begin
/// with "WEBVTT", and for malformed times.
SIXFOLD_API std::string translate_webvtt(std::string_view vtt, const TextTranslator& translate,
                                         const std::string& name = "the subtitles");

/// The same for messages of gettext (a PO file). Each empty msgstr of a message gets a translation. For plural
/// forms, the first form is the translation of msgid, and the others are those of msgid_plural. Everything else
/// keeps its bytes: the header, comments and flags, obsolete messages, and messages that have a translation,
/// fuzzy or not. Placeholders such as %s and {name}, tags and line ends within texts are kept. Also throws an
/// input error for syntax errors.
SIXFOLD_API std::string translate_po(std::string_view po, const TextTranslator& translate,
                                     const std::string& name = "the PO file");

/// The same for XLIFF, 1.x and 2.x. Units without a translation get one, which has the inline codes of the
/// source: units whose <target> is missing or empty, or has a state of untranslated units (new and
/// needs-translation, in 2.x initial). Everything else keeps its bytes. The state of a translated unit is
/// changed. Also throws an input error for a document that is not XLIFF, or whose languages are not those of
/// the translator.
SIXFOLD_API std::string translate_xliff(std::string_view xliff, const TextTranslator& translate,
                                        const std::string& name = "the XLIFF document");

/// The same for Markdown: CommonMark with the tables, strikethrough, task lists and autolinks of GitHub. Code,
/// link targets, images, HTML blocks, autolinks and front matter keep their bytes. Each translated paragraph
/// becomes one line. An emphasis without words is left out. A text whose translation can't be written with the
/// markup of the source keeps its bytes.
SIXFOLD_API std::string translate_markdown(std::string_view markdown, const TextTranslator& translate,
                                           const std::string& name = "the Markdown document");

/// The format of a text.
enum class TextKind { plain, html, xml, srt, po, vtt, xliff, markdown };

/// The kind of a document whose name has this extension, with what HTTP calls it.
struct DocumentFormat {
  std::string_view extension;  ///< with its dot, in lower case
  TextKind kind;
  const char* content_type;
};
/// The known formats of documents, without plain text.
SIXFOLD_API std::span<const DocumentFormat> document_formats();

/// Calls the function above for a document of this kind, which must not be `plain`. `xml`: only for XML.
SIXFOLD_API std::string translate_document(TextKind kind, std::string_view document,
                                           const TextTranslator& translate, const XmlOptions& xml,
                                           const std::string& name);

}  // namespace sixfold
