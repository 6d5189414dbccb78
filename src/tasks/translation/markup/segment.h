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

  size_t open =
      none;  ///< the piece of its start tag; none: it began before the segment. Also the piece of a mark
  size_t close = none;        ///< the piece of its end tag; none: it ends behind the segment, or never
  size_t parent = none;       ///< the index of the element that it is directly in
  size_t begin = 0, end = 0;  ///< the part of the segment's text that it covers, in bytes
  bool mark = false;          ///< neither start tag nor end tag
  bool follows_text = false;  ///< no white space lies between it and text before it
};

/// A placeholder in a segment's text.
struct SegmentPlaceholder {
  size_t begin = 0;  ///< in the text, in bytes
  size_t piece = 0;  ///< the piece that it stands for
};

/// Text to translate with the inline elements in it: a run of pieces without a boundary. Tags and white space
/// around all of the text are no part of it.
struct Segment {
  size_t first = 0, last = 0;  ///< its pieces, without `last`
  /// References are decoded, and runs of white space are one space, with none at the ends.
  std::string text;
  std::vector<SegmentElement>
      elements;  ///< an element stands before those in it, otherwise in order of the source
  std::vector<SegmentPlaceholder> placeholders;  ///< in order
};

/// The segments that contain a letter, in order. `placeholder` stands in their texts for pieces that are kept.
std::vector<Segment> segments_of(std::string_view source, const Pieces& pieces, CharacterReferences& references,
                                 std::string_view placeholder = {});

}  // namespace sixfold
