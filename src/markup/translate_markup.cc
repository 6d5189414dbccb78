#include "markup/translate_markup.h"

#include "markup/translate_pieces.h"

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

}  // namespace sixfold
