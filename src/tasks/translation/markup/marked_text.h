#pragma once
#include <string_view>

#include "tasks/translation/markup/pieces.h"

namespace sixfold {

/// What stands in text of a file that is neither HTML nor XML, and is no text itself.
enum class TextMarks {
  subtitles,  ///< tags, {\an8} and the like, and "-->", which ends a text
  cues,       ///< tags of WebVTT and times; a tag of a voice ends a text
  messages,   ///< tags, and placeholders such as %s, %1$d, %(name)s, %{name}, {0} and {name}, with brackets and
              ///< quotation marks around them
};

/// Adds a text with its tags and marks to the pieces. Tags that fit each other are inline elements, a tag of a
/// line end, paragraph or voice is a boundary, and all others are marks.
void add_marked_text(const MarkupSource& source, size_t begin, size_t end, TextMarks marks, PieceList& pieces);

}  // namespace sixfold
