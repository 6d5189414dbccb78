#pragma once
#include <vector>

#include "tasks/translation/markup/segment.h"
#include "tasks/translation/markup/translate_markup.h"
#include "text/words.h"

namespace sixfold {

/// Where the inline elements of a segment lie in its translation, and in which order they are written.
struct Placement {
  std::vector<TextRange> ranges;              ///< of each element, in bytes of the translation
  std::vector<std::vector<size_t>> children;  ///< of each element, as written; last: those that are in no other
};

/// Places the elements of a segment by the word alignment of its translation.
///
/// An element covers the words that are aligned to its words: of the stretches of words between other elements,
/// the one with the most such words, where each word that is aligned to others counts against it. (The smallest
/// stretch that has all of them would not do: alignments by attention have stray pairs, and one of them would
/// spread a link over a sentence.) Elements with fewer words choose first. Punctuation beside an element stays
/// beside it. An element that began before the segment covers its beginning, one that ends behind it its end.
/// Elements without words, and marks, stand beside the words that they stood beside.
///
/// Elements remain in the elements that they were in, and never cross. O(n log n) in words and elements.
Placement place_elements(const Segment& segment, const TranslatedText& translation);

}  // namespace sixfold
