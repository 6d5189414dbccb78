#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/api.h"

namespace sixfold {

/// The translation of a text.
struct TranslatedText {
  std::string text;
  /// Pairs of a source word and a word of the translation, counted from 0, as `Translation::alignment`. Words
  /// are those of `word_ranges`. Pairs of words that do not exist are ignored. Inline elements are placed by
  /// it.
  std::vector<std::pair<int, int>> alignment = {};
};

/// Translates texts: returns a translation for each, in the same order. A text has no line ends; it may have
/// several sentences.
struct TextTranslator : std::function<std::vector<TranslatedText>(const std::vector<std::string>& texts)> {
  using function::function;

  /// Returns a word that translations mostly repeat as it is. It takes the place of what is kept within a text,
  /// such as code. An empty function, or word: nothing does.
  std::function<std::string()> placeholder = {};

  /// Codes of the languages of the texts and of their translations, such as "en"; empty: not known. They are
  /// compared with those that a document declares (XLIFF).
  std::string source_language = {}, target_language = {};
};

/// How the text of an XML document is found. Names of elements are compared as they are written, prefix
/// included.
struct XmlOptions {
  /// Whether the structure shows which elements are inline: those in an element that itself contains text,
  /// except elements that contain two or more elements and no text. Without it, all elements are inline.
  bool outline_detection = true;
  std::vector<std::string> splitting_tags = {};      ///< elements that end a text
  std::vector<std::string> non_splitting_tags = {};  ///< elements that are inline; `splitting_tags` goes first
  std::vector<std::string> ignore_tags = {};         ///< elements whose content is not translated
};

/// Translates the text of an HTML document, or of a part of one (docs/markup.md). Everything else keeps its
/// bytes: tags, attributes, comments, scripts, code and what is marked by translate="no". Inline elements
/// within a text are placed by the word alignment. A text whose translation equals it keeps its bytes, too. The
/// time is linear in the size of the document.
///
/// `translate` is called once with all texts, or not at all if there are none. `name` begins the messages.
/// Throws an input error with line and column if the document has more than 2^26 bytes, is not valid UTF-8,
/// contains NUL, or has more than 512 elements nested in each other. Rethrows what `translate` throws. Safe to
/// call from several threads.
SIXFOLD_API std::string translate_html(std::string_view html, const TextTranslator& translate,
                                       const std::string& name = "the HTML document");

/// The same for XML. A document may have several roots, and text beside them. Throws an input error as well if
/// it is not well-formed.
SIXFOLD_API std::string translate_xml(std::string_view xml, const TextTranslator& translate,
                                      const XmlOptions& options = {},
                                      const std::string& name = "the XML document");

/// The same for subtitles (SubRip). Numbers, times, positions and tags keep their bytes. The lines of a
/// subtitle are one text, except that a line that begins with a dash begins another; its translation has as
/// many lines. Throws an input error as well for a text before the first times.
SIXFOLD_API std::string translate_srt(std::string_view srt, const TextTranslator& translate,
                                      const std::string& name = "the subtitles");

/// The same for subtitles of the web (WebVTT). Only the texts of cues are translated, as those of
/// `translate_srt`. All else keeps its bytes: times, settings, names, and blocks that are no cues. A tag of a
/// voice (<v>) ends a text; times within a text keep their order. A translation without a visible character is
/// U+00A0, since an empty line ends a cue. Throws an input error as well for a document that does not begin
/// with "WEBVTT", and for times that are none.
SIXFOLD_API std::string translate_webvtt(std::string_view vtt, const TextTranslator& translate,
                                         const std::string& name = "the subtitles");

/// The same for messages of gettext (a PO file). The empty msgstr of messages get translations, for plural
/// forms as well: the first form is that of msgid, the others those of msgid_plural. All else keeps its bytes:
/// the header, comments and flags, obsolete messages, and messages that have a translation, fuzzy or not. In
/// texts, placeholders such as %s and {name}, tags and line ends are kept. Throws an input error as well with
/// the place of what is not a PO file.
SIXFOLD_API std::string translate_po(std::string_view po, const TextTranslator& translate,
                                     const std::string& name = "the PO file");

/// The same for XLIFF, 1.x and 2.x. The units that have no translation get one, which repeats the codes of the
/// source: each <target> that is missing, is empty, or says by its state that it is not translated (new and
/// needs-translation, in 2.x initial). All others keep their bytes, and so does all else. What is translated
/// says so by its state. Throws an input error as well for a document that is no XLIFF, or whose languages are
/// not those of the translator.
SIXFOLD_API std::string translate_xliff(std::string_view xliff, const TextTranslator& translate,
                                        const std::string& name = "the XLIFF document");

/// The same for Markdown: CommonMark with tables, strikethrough, task lists and addresses as GitHub has them.
/// Code, targets of links, images, HTML blocks, addresses and front matter keep their bytes, and each paragraph
/// that is translated becomes one line. An emphasis without words is left out. A text whose translation can't
/// be written with the marks of the source keeps its bytes.
SIXFOLD_API std::string translate_markdown(std::string_view markdown, const TextTranslator& translate,
                                           const std::string& name = "the Markdown document");

/// What a text is.
enum class TextKind { plain, html, xml, srt, po, vtt, xliff, markdown };

/// The function above for a document of this kind, which is not `plain`. `xml` is for XML alone.
SIXFOLD_API std::string translate_document(TextKind kind, std::string_view document,
                                           const TextTranslator& translate, const XmlOptions& xml,
                                           const std::string& name);

}  // namespace sixfold
