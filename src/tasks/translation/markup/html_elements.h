#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace sixfold {

/// The properties of an HTML element that matter for translation: a set of these bits.
enum HtmlTrait : uint32_t {
  html_block = 1 << 0,       ///< its tags end a text
  html_void = 1 << 1,        ///< has no content and no end tag
  html_formatting = 1 << 2,  ///< an inline element whose end tag may cross those of block elements
  html_scope = 1 << 3,      ///< end tags within it don't end elements outside of it ("has an element in scope")
  html_raw = 1 << 4,        ///< its content is no markup and has no references, up to its end tag
  html_rcdata = 1 << 5,     ///< its content is no markup but has references, up to its end tag
  html_plaintext = 1 << 6,  ///< the whole rest of the document is its content
  html_untranslated = 1 << 7,  ///< its content is not translated, and separates the texts before and after it
  html_aside = 1 << 8,         ///< its content is not translated, and is no part of the text around it
  html_keeps_space = 1 << 9,   ///< white space in it is shown unchanged
  html_foreign = 1 << 10,      ///< its content is SVG or MathML
  html_breaks_foreign = 1 << 11,  ///< its start tag ends SVG and MathML
  html_ends_paragraph = 1 << 12,  ///< its start tag ends an open paragraph
};

/// The traits of an element, by its name in lower case. Unknown elements have none, and so are inline.
uint32_t html_traits(std::string_view name);

/// Whether an element of SVG or MathML, by its name in lower case, contains HTML.
bool is_integration_point(std::string_view name);

/// A rule for elements whose end tags may be omitted before a start tag.
struct ImpliedEnd {
  std::string_view start;                    ///< the element that begins
  std::span<const std::string_view> ended;   ///< the elements that it ends, if they are open
  std::span<const std::string_view> within;  ///< the search for them ends at these elements
  bool current_only = false;                 ///< whether it ends only the element that was opened last
};

/// The rule of an element, or null.
const ImpliedEnd* implied_end(std::string_view start);

bool contains(std::span<const std::string_view> names, std::string_view name);

}  // namespace sixfold
