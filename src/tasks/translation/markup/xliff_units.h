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
    size_t element;                    ///< index of its element
    size_t number;                     ///< its index among all units of the document
    size_t source = XmlElement::none;  ///< index of the element to translate: source or seg-source
    size_t target = XmlElement::none;
  };

  XmlEvents xml;
  std::vector<size_t> starts, ends;  ///< for each element, the indices of the events of its tags
  std::string_view prefix;           ///< namespace prefix of its elements, including the colon
  bool is_version_2 = false;         ///< whether its version is 2.x
  std::vector<Unit> units;           ///< the units that need a translation, in order

  /// The name of an element without the prefix; empty if it is not an element of XLIFF.
  std::string_view name(size_t element) const;
};

/// Reads an XLIFF document, and finds the units that need a translation: the source has text to translate and
/// no CDATA section, and the target is missing, empty, or untranslated according to its state. Throws an input
/// error with line and column if the document is not XLIFF, or as `read_xml`.
Xliff read_xliff(const MarkupSource& source);

/// The value of an attribute in a start tag of well-formed XML, as written; a null view if there is no such
/// attribute.
std::string_view attribute(std::string_view tag, std::string_view name);
/// Returns a start tag with an attribute set to this value.
std::string with_attribute(std::string tag, std::string_view name, std::string_view value);
/// Returns a start tag without this attribute and the white space before it.
std::string without_attribute(std::string tag, std::string_view name);

/// Adds the content of a source to pieces. `shift` is added to the positions of events. Paired codes are inline
/// elements: <g>, <pc> and <mrk>, and pairs such as <bpt> and <ept>. All other codes are marks; those without a
/// type may stand for words.
void add_unit_content(const MarkupSource& source, const Xliff& xliff, size_t element, size_t shift,
                      PieceList& pieces);

}  // namespace sixfold
