#include "tasks/translation/markup/segment.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <utility>

#include "text/utf8.h"

namespace sixfold {
namespace {

/// Builds the text of a segment and the positions of its elements.
class SegmentBuilder {
 public:
  SegmentBuilder(std::string_view source, const Pieces& pieces, CharacterReferences& references,
                 std::string_view placeholder)
      : source_(source), pieces_(pieces), references_(references), placeholder_(placeholder) {}

  /// Builds the segment of the pieces from `first` to `last` (exclusive).
  Segment build(size_t first, size_t last) {
    segment_ = {};
    trim(first, last);
    segment_.first = first, segment_.last = last;
    open_.clear();
    pending_space_ = follows_text_ = false;
    add_elements_that_began_before();
    for (size_t i = first; i < last; ++i) add(i);
    const size_t size = segment_.text.size();
    for (SegmentElement& element : segment_.elements) {
      const bool continues = element.close == SegmentElement::none && !element.mark;
      element.begin = std::min(element.begin, size);
      element.end = continues ? size : std::min(element.end, size);
    }
    return std::move(segment_);
  }

 private:
  bool is_inside(size_t piece) const { return piece >= segment_.first && piece < segment_.last; }

  /// Narrows a range of pieces, by leaving out white space, marks and tags before and after all text. An
  /// element that covers only a part of the text keeps both of its tags.
  void trim(size_t& first, size_t& last) const {
    const auto is_text = [](const Piece& piece) { return is_in_text(piece.kind); };
    const auto at = [&](size_t i) { return pieces_.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto text = static_cast<size_t>(std::find_if(at(first), at(last), is_text) - pieces_.begin());
    size_t text_end = last;
    while (!is_text(pieces_[text_end - 1])) --text_end;
    const auto among_text = [&](size_t piece) {
      return piece != Piece::none && piece > text && piece < text_end;
    };
    const auto covers_a_part = [&](size_t i) { return among_text(pieces_[i].partner); };
    while (first < text && !covers_a_part(first)) ++first;
    while (last > text_end && !covers_a_part(last - 1)) --last;
  }

  /// Adds the elements whose end tags are in the segment and that began before it, outermost first.
  void add_elements_that_began_before() {
    for (size_t i = segment_.last; i-- > segment_.first;)
      if (pieces_[i].kind == PieceKind::close && !is_inside(pieces_[i].partner)) {
        open_.push_back(segment_.elements.size());
        segment_.elements.push_back({.close = i, .parent = parent()});
      }
  }

  size_t parent() const { return open_.size() < 2 ? SegmentElement::none : open_[open_.size() - 2]; }

  void add(size_t i) {
    const Piece& piece = pieces_[i];
    std::string& text = segment_.text;
    switch (piece.kind) {
      case PieceKind::text:
        add_text(source_.substr(piece.begin, piece.end - piece.begin));
        break;
      case PieceKind::space:
        pending_space_ = !text.empty();
        follows_text_ = false;
        break;
      case PieceKind::open:
      case PieceKind::mark: {
        const bool mark = piece.kind == PieceKind::mark;
        open_.push_back(segment_.elements.size());
        SegmentElement element{.open = i, .parent = parent(), .mark = mark, .follows_text = follows_text_};
        element.begin = element.end = text.size() + (pending_space_ ? 1 : 0);
        if (!mark && is_inside(piece.partner)) element.close = piece.partner;
        segment_.elements.push_back(element);
        if (mark) open_.pop_back();
        break;
      }
      case PieceKind::close:
        // An empty element ends before a pending space: after it, it would be at the next word.
        segment_.elements[open_.back()].end = std::max(text.size(), segment_.elements[open_.back()].begin);
        open_.pop_back();
        break;
      case PieceKind::kept:
        add_space();
        segment_.placeholders.push_back({text.size(), i});
        text += placeholder_;
        follows_text_ = true;
        break;
      case PieceKind::boundary:
        break;
    }
  }

  /// Adds the pending space, if there is one.
  void add_space() {
    if (std::exchange(pending_space_, false)) segment_.text += ' ';
  }

  void add_text(std::string_view raw) {
    const std::string decoded = references_.decode_text(raw);
    for (size_t i = 0; i < decoded.size();) {
      const size_t begin = i;
      if (next_is_space(decoded, i)) {
        pending_space_ = !segment_.text.empty();
        continue;
      }
      add_space();
      segment_.text.append(decoded, begin, i - begin);
    }
    follows_text_ = !pending_space_;
  }

  std::string_view source_;
  const Pieces& pieces_;
  CharacterReferences& references_;
  std::string_view placeholder_;
  Segment segment_;
  std::vector<size_t> open_;    // open elements, outermost first
  bool pending_space_ = false;  // whether white space follows the text so far
  bool follows_text_ = false;
};

}  // namespace

std::vector<Segment> segments_of(std::string_view source, const Pieces& pieces, CharacterReferences& references,
                                 std::string_view placeholder) {
  std::vector<Segment> segments;
  SegmentBuilder builder(source, pieces, references, placeholder);
  bool has_text = false;
  size_t first = 0;
  for (size_t i = 0; i <= pieces.size(); ++i) {
    if (i < pieces.size() && pieces[i].kind != PieceKind::boundary) {
      has_text = has_text || pieces[i].kind == PieceKind::text;
      continue;
    }
    if (has_text) {
      Segment segment = builder.build(first, i);
      if (has_letter(segment.text)) segments.push_back(std::move(segment));
    }
    has_text = false;
    first = i + 1;
  }
  return segments;
}

}  // namespace sixfold
