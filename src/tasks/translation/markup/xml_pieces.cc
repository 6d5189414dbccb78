#include <algorithm>

#include "tasks/translation/markup/pieces.h"
#include "tasks/translation/markup/translate_markup.h"
#include "tasks/translation/markup/xml_events.h"

namespace sixfold {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The role of an element for the texts in it and around it.
struct ElementRole {
  bool is_inline = false, translated = true, keeps_space = false;
  bool within_text = false;       // is inline, and both its content and the text around it are translated
  bool stands_for_words = false;  // is inline, and only the text around it is translated
  size_t inline_depth = 0;        // number of nested `within_text` elements, including this one
};

/// The roles of all elements. Parents come before their children.
std::vector<ElementRole> roles_of(const std::vector<XmlElement>& elements, const XmlOptions& options) {
  std::vector<ElementRole> roles(elements.size());
  for (size_t i = 1; i < elements.size(); ++i) {
    const XmlElement& element = elements[i];
    const ElementRole& parent = roles[element.parent];
    ElementRole& role = roles[i];
    // Its children are separate texts, as in the outline detection of DeepL.
    const bool container = element.elements > 1 && !element.has_text;
    role.is_inline =
        !options.outline_detection || (!container && (elements[element.parent].has_text || parent.is_inline));
    if (contains(options.non_splitting_tags, element.name)) role.is_inline = true;
    if (contains(options.splitting_tags, element.name)) role.is_inline = false;
    const bool ignored = contains(options.ignore_tags, element.name);
    role.translated = element.translate.value_or(parent.translated) && !ignored;
    role.keeps_space = element.keeps_space.value_or(parent.keeps_space);
    role.within_text =
        role.is_inline && role.translated && parent.translated && parent.inline_depth < max_inline_depth;
    role.stands_for_words = role.is_inline && !role.translated && parent.translated;
    role.inline_depth = parent.inline_depth + (role.within_text ? 1 : 0);
  }
  return roles;
}

}  // namespace

Pieces xml_pieces(const MarkupSource& source, const XmlOptions& options) {
  const XmlEvents xml = read_xml(source);
  const std::vector<ElementRole> roles = roles_of(xml.elements, options);
  PieceList pieces(source, MarkupLanguage::xml);
  std::vector<size_t> opened(xml.elements.size());  // the piece of each start tag
  for (const XmlEvent& event : xml.events) {
    const ElementRole& role = roles[event.element];
    switch (event.kind) {
      case XmlEvent::Kind::text:
        if (role.translated) pieces.add_text(event.begin, event.end, role.keeps_space);
        break;
      case XmlEvent::Kind::start_tag: {
        const bool empty = source.bytes[event.end - 2] == '/';
        const PieceKind kind = !role.within_text ? PieceKind::boundary
                               : empty           ? PieceKind::mark
                                                 : PieceKind::open;
        opened[event.element] = pieces.add(kind, event.begin, event.end);
        break;
      }
      case XmlEvent::Kind::end_tag:
        if (role.within_text && event.begin < event.end)
          pieces.make_partners(opened[event.element], pieces.add(PieceKind::close, event.begin, event.end));
        else if (event.begin < event.end)
          pieces.add(PieceKind::boundary, event.begin, event.end);
        if (role.stands_for_words && pieces.join(opened[event.element], PieceKind::boundary))
          pieces.stands_for_words();
        break;
      case XmlEvent::Kind::note:
        pieces.add(role.translated ? PieceKind::mark : PieceKind::boundary, event.begin, event.end);
        break;
      case XmlEvent::Kind::other:
        pieces.add(PieceKind::boundary, event.begin, event.end);
        break;
    }
  }
  return pieces.take();
}

}  // namespace sixfold
