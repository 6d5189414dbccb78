#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tasks/translation/markup/markup_error.h"

namespace sixfold {

/// What expat finds in an XML document, with its place.
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
  size_t element = 0;  ///< the index of the element of a tag; otherwise of the one that it is directly in
};

struct XmlElement {
  static constexpr size_t none = SIZE_MAX;

  std::string name;                 ///< with its prefix
  size_t begin = 0;                 ///< the place of its start tag
  size_t parent = none;             ///< its index
  size_t elements = 0;              ///< the number of elements directly in it
  bool has_text = false;            ///< whether text other than white space is directly in it
  std::optional<bool> translate;    ///< by translate="yes|no" or its:translate
  std::optional<bool> keeps_space;  ///< by xml:space="preserve|default"
};

/// A document in its own order. The first element is not in the document: it contains the roots.
struct XmlEvents {
  std::vector<XmlEvent> events;
  std::vector<XmlElement> elements;
};

/// Reads XML 1.0 with expat. The document may have several roots, and text beside them, unless it has a
/// doctype. Entities that it declares are not replaced. Throws an input error with its place if it is not
/// well-formed, if its elements are nested too deep or if it declares more than 1,000 entities.
XmlEvents read_xml(const MarkupSource& source);

}  // namespace sixfold
