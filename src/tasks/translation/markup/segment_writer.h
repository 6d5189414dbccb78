#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tasks/translation/markup/segment.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {

/// The pieces of a document, and the placeholder that represents kept pieces within texts.
struct DocumentPieces {
  std::string_view source;
  MarkupLanguage language;
  Pieces pieces;
  std::string placeholder;
};

/// The translation of a segment with its elements and line ends, as it stands in the document. `placeholders`:
/// the placeholders in the translation.
std::string write_segment(const DocumentPieces& document, const Segment& segment,
                          const TranslatedText& translation, std::vector<SegmentPlaceholder> placeholders);

}  // namespace sixfold
