#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/translation/markup/pieces.h"

namespace sixfold {

/// The kinds of markup within the text of files that are neither HTML nor XML.
enum class TextMarks {
  subtitles,  ///< tags, {\an8} and the like, and "-->", which ends a text
  cues,       ///< tags of WebVTT and times; a voice tag (<v>) ends a text
  messages,   ///< tags, and placeholders such as %s, %1$d, %(name)s, %{name}, {0}, {{name}} and ${name}, with
              ///< brackets and quotation marks around them; elements whose content is not translated in HTML
  messages_with_percent_signs,  ///< the same, but a percent sign is text
};

/// The marks of messages in a text that have one of `signs`, sorted, without brackets and quotation marks
/// around them; nothing if there is such a sign outside of the marks.
std::optional<std::vector<std::string>> placeholders_of(std::string_view text, TextMarks marks,
                                                        std::string_view signs);

/// Adds a text with its markup to the pieces. Matching start and end tags are inline elements. Tags of line
/// breaks, paragraphs and voices are boundaries. All other markup is marks.
void add_marked_text(const MarkupSource& source, size_t begin, size_t end, TextMarks marks, PieceList& pieces);

}  // namespace sixfold
