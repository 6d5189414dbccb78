#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tasks/translation/markup/character_references.h"
#include "tasks/translation/markup/pieces.h"

namespace sixfold {

/// An inline element of a segment, or a mark, which has no width.
struct SegmentElement {
  static constexpr size_t none = SIZE_MAX;

  size_t open = none;         ///< the piece of its start tag, or of the mark; none: it began before the segment
  size_t close = none;        ///< the piece of its end tag; none: it ends after the segment, or never
  size_t parent = none;       ///< the index of its parent
  size_t begin = 0, end = 0;  ///< the part of the segment's text that it covers, in bytes
  bool mark = false;          ///< whether it is a mark
  bool follows_text = false;  ///< no white space is between it and the text before it
};

/// A placeholder in a segment's text.
struct SegmentPlaceholder {
  size_t begin = 0;  ///< in the text, in bytes
  size_t piece = 0;  ///< the piece that it represents
};

/// A text to translate with its inline elements: consecutive pieces without a boundary. Tags and white space
/// around the whole text are not part of it.
struct Segment {
  size_t first = 0, last = 0;  ///< the range of its pieces; `last` is exclusive
  /// The text, with decoded references. White space is a single space, and there is none at the ends.
  std::string text;
  std::vector<SegmentElement>
      elements;  ///< parents come before their children, otherwise in order of the source
  std::vector<SegmentPlaceholder> placeholders;  ///< in order
};

/// The segments that contain a letter, in order. `placeholder` represents kept pieces in their texts.
std::vector<Segment> segments_of(std::string_view source, const Pieces& pieces, CharacterReferences& references,
                                 std::string_view placeholder = {});

}  // namespace sixfold
