#include "tasks/translation/markup/translate_markup.h"

#include "base/error.h"
#include "tasks/translation/markup/translate_pieces.h"

namespace sixfold {

std::string translate_html(std::string_view html, const TextTranslator& translate, const std::string& name) {
  const MarkupSource source{html, name};
  require_text(source);
  return translate_pieces(source, html_pieces(source), MarkupLanguage::html, translate);
}

std::string translate_xml(std::string_view xml, const TextTranslator& translate, const XmlOptions& options,
                          const std::string& name) {
  const MarkupSource source{xml, name};
  require_text(source);
  return translate_pieces(source, xml_pieces(source, options), MarkupLanguage::xml, translate);
}

std::span<const DocumentFormat> document_formats() {
  constexpr const char* html = "text/html; charset=utf-8";
  constexpr const char* xliff = "application/xliff+xml; charset=utf-8";
  constexpr const char* markdown = "text/markdown; charset=utf-8";
  constexpr const char* gettext = "text/x-gettext-translation; charset=utf-8";
  static constexpr DocumentFormat formats[] = {
      {".html", TextKind::html, html},
      {".htm", TextKind::html, html},
      {".xhtml", TextKind::html, "application/xhtml+xml; charset=utf-8"},
      {".xml", TextKind::xml, "application/xml; charset=utf-8"},
      {".srt", TextKind::srt, "application/x-subrip; charset=utf-8"},
      {".vtt", TextKind::vtt, "text/vtt; charset=utf-8"},
      {".xlf", TextKind::xliff, xliff},
      {".xliff", TextKind::xliff, xliff},
      {".sdlxliff", TextKind::xliff, xliff},
      {".md", TextKind::markdown, markdown},
      {".markdown", TextKind::markdown, markdown},
      {".po", TextKind::po, gettext},
      {".pot", TextKind::po, gettext}};
  return formats;
}

std::string translate_document(TextKind kind, std::string_view document, const TextTranslator& translate,
                               const XmlOptions& xml, const std::string& name) {
  switch (kind) {
    case TextKind::html:
      return translate_html(document, translate, name);
    case TextKind::xml:
      return translate_xml(document, translate, xml, name);
    case TextKind::srt:
      return translate_srt(document, translate, name);
    case TextKind::po:
      return translate_po(document, translate, name);
    case TextKind::vtt:
      return translate_webvtt(document, translate, name);
    case TextKind::xliff:
      return translate_xliff(document, translate, name);
    case TextKind::markdown:
      return translate_markdown(document, translate, name);
    case TextKind::plain:
      throw_input_error("{}: plain text is no document", name);
  }
  throw_unknown("kind of text", kind);
}

}  // namespace sixfold
