#pragma once
#include <string_view>
#include <vector>

#include "tasks/translation/markup/pieces.h"
#include "tasks/translation/markup/xml_events.h"

namespace sixfold {

/// An XLIFF document, 1.x or 2.x.
struct Xliff {
  /// A text with its translation: a trans-unit of 1.x, a segment of 2.x.
  struct Unit {
    size_t element;                    ///< its index
    size_t source = XmlElement::none;  ///< of the element that is translated: source, or seg-source
    size_t target = XmlElement::none;
  };

  XmlEvents xml;
  std::vector<size_t> starts, ends;  ///< the events of the tags of each element
  std::string_view prefix;           ///< of the names of its elements, with its colon
  bool second = false;               ///< whether its version is 2.x
  std::vector<Unit> units;           ///< those that need a translation, in order

  /// The name of an element without the prefix; empty if it is not an element of XLIFF.
  std::string_view name(size_t element) const;
};

/// Reads an XLIFF document, and which of its units need a translation: those whose source has text that is
/// translated, without CDATA sections, and whose target is empty or says by its state that it is not translated
/// yet. Throws an input error with its place if it is not XLIFF, or as `read_xml`.
Xliff read_xliff(const MarkupSource& source);

/// The value of an attribute in a start tag of well-formed XML, as it is written; without data if it has none.
std::string_view attribute(std::string_view tag, std::string_view name);
/// A start tag with an attribute of this value, in place of the value that it has.
std::string with_attribute(std::string tag, std::string_view name, std::string_view value);

/// Adds the content of a source to pieces. `shift` is added to the bytes of events. Codes that belong together
/// are inline elements: <g>, <pc> and <mrk>, and pairs such as <bpt> and <ept>. All other codes are marks;
/// those that are of no type may stand for words.
void add_unit_content(const MarkupSource& source, const Xliff& xliff, size_t element, size_t shift,
                      PieceList& pieces);

}  // namespace sixfold
