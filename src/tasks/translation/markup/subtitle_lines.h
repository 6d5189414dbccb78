#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "tasks/translation/markup/marked_text.h"
#include "tasks/translation/markup/pieces.h"

namespace sixfold {

/// A line of a document, in bytes, without its line end.
struct DocumentLine {
  size_t begin, end;
};

/// The lines of a document, without a byte order mark. Lines end with LF or CR LF, or also with CR alone if
/// `cr_ends_line` is true.
std::vector<DocumentLine> lines_of(std::string_view bytes, bool cr_ends_line = false);

/// Whether a line has the times of a subtitle, such as "00:01:02,500 --> 00:01:04,000", with or without a
/// position.
bool is_times(std::string_view line);

/// Collects the lines of subtitles as texts. The lines of a subtitle are one text, except that a line with a
/// leading dash begins a new text, since another speaker begins there. The dash is not part of the text and
/// stays unchanged.
class SpokenText {
 public:
  SpokenText(const MarkupSource& source, TextMarks marks, PieceList& pieces)
      : source_(source), marks_(marks), pieces_(pieces) {}

  void add(const DocumentLine& line);
  /// Ends the text, if one has begun.
  void end();

 private:
  static constexpr size_t none = SIZE_MAX;

  const MarkupSource& source_;
  TextMarks marks_;
  PieceList& pieces_;
  size_t first_ = none, last_ = none;  // the bytes of the current text
};

}  // namespace sixfold
