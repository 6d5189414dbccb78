#pragma once
#include <vector>

#include "tasks/translation/markup/segment.h"
#include "tasks/translation/markup/translate_markup.h"
#include "text/words.h"

namespace sixfold {

/// The positions of the inline elements of a segment in its translation, and the order in which they are
/// written.
struct Placement {
  std::vector<TextRange> ranges;              ///< of each element, in bytes of the translation
  std::vector<std::vector<size_t>> children;  ///< of each element, in order; last: elements without a parent
};

/// Places the elements of a segment by the word alignment of its translation.
///
/// An element covers a contiguous range of words that does not overlap other elements. The score of a range is
/// the number of words that are aligned to words of the element, minus the number of words that are aligned to
/// others; the range with the highest score is chosen. (The smallest range with all aligned words would not do:
/// alignments from attention have stray pairs, and one of them would spread a link over a whole sentence.)
/// Elements with fewer words choose first. Punctuation next to an element stays next to it. An element that
/// began before the segment covers its beginning, and one that ends after it covers its end. Elements without
/// words, and marks, stay next to the words that they were next to.
///
/// Elements stay within their parents and never cross. Takes O(n log n) time in words and elements.
Placement place_elements(const Segment& segment, const TranslatedText& translation);

}  // namespace sixfold
