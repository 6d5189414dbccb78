#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tasks/translation/markup/markup_error.h"

namespace sixfold {

/// A part of an XML document, as reported by expat.
struct XmlEvent {
  enum class Kind : uint8_t {
    text,  ///< with references to characters and to the five predefined entities
    start_tag,
    end_tag,  ///< empty if the start tag ends in "/>"
    note,     ///< a comment or a processing instruction
    other,    ///< CDATA sections, references to declared entities, the XML declaration, the doctype
  };

  Kind kind;
  size_t begin, end;   ///< bytes of the document
  size_t element = 0;  ///< the index of the element of a tag, or of the parent of any other event
};

/// An element of an XML document.
struct XmlElement {
  static constexpr size_t none = SIZE_MAX;

  std::string name;                 ///< with its prefix
  size_t begin = 0;                 ///< the position of its start tag
  size_t parent = none;             ///< the index of its parent
  size_t elements = 0;              ///< number of its child elements
  bool has_text = false;            ///< whether it directly contains text other than white space
  std::optional<bool> translate;    ///< from translate="yes|no" or its:translate
  std::optional<bool> keeps_space;  ///< from xml:space="preserve|default"
};

/// The events of a document, in order, and its elements. The first element is not in the document: it is the
/// parent of the roots.
struct XmlEvents {
  std::vector<XmlEvent> events;
  std::vector<XmlElement> elements;
};

/// Reads XML 1.0 with expat. The document may have several roots, and text between them, unless it has a
/// doctype. Entities that it declares are not replaced. Throws an input error with line and column if it is not
/// well-formed, if its elements are nested too deep or if it declares more than 1,000 entities.
XmlEvents read_xml(const MarkupSource& source);

}  // namespace sixfold
