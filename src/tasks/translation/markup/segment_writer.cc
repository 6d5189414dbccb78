#include "tasks/translation/markup/segment_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.h"
#include "tasks/translation/markup/placement.h"
#include "tasks/translation/markup/punctuation.h"
#include "text/sentences.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

class SegmentWriter {
 public:
  SegmentWriter(const DocumentPieces& document, const Segment& segment, const TranslatedText& translation,
                std::vector<SegmentPlaceholder> placeholders)
      : source_(document.source),
        pieces_(document.pieces),
        segment_(segment),
        text_(translation.text),
        placement_(place_elements(segment, translation)),
        language_(document.language),
        placeholder_size_(document.placeholder.size()),
        placeholders_(std::move(placeholders)),
        next_in_order_(segment.first) {}

  std::string write() {
    size_t text = segment_.first, text_end = segment_.last;
    while (!is_in_text(pieces_[text].kind)) ++text;
    while (!is_in_text(pieces_[text_end - 1].kind)) --text_end;
    write_space(segment_.first, text);
    write_children(segment_.elements.size());
    write_text(text_.size());
    write_space(text_end, segment_.last);
    if (language_ == MarkupLanguage::plain || language_ == MarkupLanguage::cues) break_lines();
    return std::move(output_);
  }

 private:
  /// Writes white space between the tags at the ends of the segment. In cues and Markdown it becomes a space,
  /// since a line end could make an empty line. White space next to a mark is written with the mark.
  void write_space(size_t first, size_t last) {
    const auto is_mark = [&](size_t i) {
      return marks_may_be_words_ && i < pieces_.size() && pieces_[i].kind == PieceKind::mark;
    };
    for (size_t i = first; i < last; ++i) {
      if (pieces_[i].kind != PieceKind::space || is_mark(i - 1) || is_mark(i + 1)) continue;
      if (language_ != MarkupLanguage::cues && language_ != MarkupLanguage::markdown)
        write_piece(i);
      else if (!output_.empty())
        output_ += ' ';
    }
  }
  /// Writes a mark. In plain documents, XLIFF and Markdown a mark may stand for a word, so that the white space
  /// next to it is kept. In HTML it may be an image: if it has white space behind it and gets some before it,
  /// it gets some behind it too, which adds no space to the text.
  void write_mark(size_t i) {
    const auto is_space = [&](size_t piece) {
      return piece >= segment_.first && piece < segment_.last && pieces_[piece].kind == PieceKind::space;
    };
    const bool before = i > 0 && is_space(i - 1), after = is_space(i + 1);
    if (!marks_may_be_words_) {
      const bool is_element = is_ascii_letter(source_[std::min(pieces_[i].begin + 1, source_.size() - 1)]);
      if (std::exchange(needs_space_, false) && before) output_ += ' ';
      needs_space_ = language_ == MarkupLanguage::html && is_element && after && output_.ends_with(' ');
      return write_piece(mark_at_position_of(i));
    }
    if (before && !output_.empty() && output_.back() != ' ') write_text_space();
    // A tag does not stand for a word: if it has white space on one side only, so has the translation.
    const bool one_side = source_[pieces_[i].begin] == '<' && output_.ends_with(' ') && !(before && after) &&
                          language_ != MarkupLanguage::markdown;
    write_piece(mark_at_position_of(i));
    needs_space_ = after && !one_side;
    skips_space_ = one_side;
  }

  /// The mark to write at the position of `i`: the next one, if it is one of those that keep their order.
  size_t mark_at_position_of(size_t i) {
    if (!pieces_[i].keeps_order) return i;
    for (; next_in_order_ < segment_.last; ++next_in_order_)
      if (is_placeholder_or_mark(next_in_order_) && pieces_[next_in_order_].keeps_order)
        return next_in_order_++;
    return i;
  }
  bool is_placeholder_or_mark(size_t i) const {
    return pieces_[i].kind == PieceKind::mark || pieces_[i].kind == PieceKind::kept;
  }
  void write_text_space() {
    spaces_.push_back(output_.size());
    output_ += ' ';
  }
  void write_piece(size_t i) {
    must_separate_word_ = false;
    if (language_ == MarkupLanguage::markdown && i != Piece::none && source_[pieces_[i].begin] == '`' &&
        output_.ends_with('`'))
      output_ += ' ';  // otherwise two code spans would become one
    if (i != Piece::none) output_ += source_.substr(pieces_[i].begin, pieces_[i].end - pieces_[i].begin);
  }
  /// Writes the text up to `end`, or up to the end of the placeholder that contains it.
  void write_text(size_t end) {
    for (; next_placeholder_ < placeholders_.size() && placeholders_[next_placeholder_].begin < end;
         ++next_placeholder_) {
      write_plain_text(placeholders_[next_placeholder_].begin);
      if (std::exchange(needs_space_, false)) write_text_space();
      skips_space_ = false;
      write_piece(mark_at_position_of(placeholders_[next_placeholder_].piece));
      written_ += placeholder_size_;
    }
    write_plain_text(std::max(end, written_));
  }
  void write_plain_text(size_t end) {
    const std::string_view part = text_.substr(written_, end - written_);
    written_ = end;
    if (part.empty()) return;
    if (language_ == MarkupLanguage::html || language_ == MarkupLanguage::xml) {
      if (std::exchange(needs_space_, false) && !part.starts_with(' ')) output_ += ' ';
      return void(output_ += escape_markup(part));
    }
    if (std::exchange(must_separate_word_, false) && !needs_space_ && begins_within_word(part)) output_ += ' ';
    bool within = false;  // whether the text has begun
    for (const char c : escaped(part)) {
      if (std::exchange(skips_space_, false) && c == ' ') continue;
      if (c == ' ' || needs_space_) write_text_space();
      needs_space_ = false;
      if (within && (static_cast<unsigned char>(c) & 0xC0) != 0x80) joints_.push_back(output_.size());
      within = true;
      if (c != ' ') output_ += c;
    }
  }
  std::string escaped(std::string_view part) const {
    if (language_ == MarkupLanguage::plain) return one_line(replace_invalid_utf8(part));
    if (language_ == MarkupLanguage::markdown)
      return escape_markdown(replace_invalid_utf8(part), output_.empty() ? '\n' : output_.back());
    return escape_markup(part);
  }

  /// Whether an element is an emphasis of Markdown.
  bool is_emphasis(const SegmentElement& element) const {
    const size_t piece = element.open != SegmentElement::none ? element.open : element.close;
    return language_ == MarkupLanguage::markdown &&
           std::string_view("*_~").find(source_[pieces_[piece].begin]) != std::string_view::npos;
  }
  /// Whether an element is an emphasis without words, whose markup would be parsed as text.
  bool is_left_out(size_t i) const {
    const SegmentElement& element = segment_.elements[i];
    return element.open != SegmentElement::none && element.close != SegmentElement::none &&
           placement_.ranges[i].begin == placement_.ranges[i].end && placement_.children[i].empty() &&
           !element.mark && is_emphasis(element);
  }
  /// Writes a start tag. In Markdown the markup of emphasis needs a space next to some characters.
  void write_open(const SegmentElement& element) {
    if (std::exchange(needs_space_, false)) write_text_space();
    if (element.open != SegmentElement::none && language_ == MarkupLanguage::markdown) {
      const char mark = source_[pieces_[element.open].begin];
      const bool within_word = ends_within_word(output_),
                 before_word = begins_within_word(text_.substr(std::min(written_, text_.size())));
      const bool runs_on = output_.ends_with(mark) && opened_at_ != output_.size();
      if (is_emphasis(element) ? runs_on || (within_word && (mark == '_' || !before_word))
                               : mark == '[' && output_.ends_with(']'))
        output_ += ' ';
      if (mark == '[' && output_.ends_with('!')) output_.insert(output_.size() - 1, "\\");
    }
    write_piece(element.open);
    opened_at_ = output_.size();
  }
  /// `shows_marks`: the element has white space before it and no text, but marks, such as a link around an
  /// image. White space behind it is kept then.
  void write_close(const SegmentElement& element, bool shows_marks) {
    if (element.close == SegmentElement::none) return;
    skips_space_ = false;
    const bool separates =
        is_emphasis(element) && (source_[pieces_[element.close].begin] == '_' || !ends_within_word(output_));
    write_piece(element.close);
    must_separate_word_ = separates;
    const size_t next = element.close + 1;
    needs_space_ |= shows_marks && next < segment_.last && pieces_[next].kind == PieceKind::space;
  }
  void write_children(size_t parent) {
    for (const size_t i : placement_.children[parent]) {
      write_text(placement_.ranges[i].begin);
      bool follows_space = false;
      if (segment_.elements[i].mark) {
        write_mark(segment_.elements[i].open);
      } else {
        if (is_left_out(i)) continue;
        follows_space = output_.ends_with(' ');
        write_open(segment_.elements[i]);
      }
      write_children(i);
      write_text(placement_.ranges[i].end);
      const bool has_text = placement_.ranges[i].begin < placement_.ranges[i].end;
      write_close(segment_.elements[i], follows_space && !has_text && !placement_.children[i].empty());
    }
  }

  /// A place in the output for a line end: a space, or nothing.
  struct LinePlace {
    size_t at, size;
  };
  /// The spaces of the text; if these are fewer than `count`, also where scripts without spaces allow a line
  /// end.
  std::vector<LinePlace> line_places(size_t count) const {
    std::vector<LinePlace> places;
    for (const size_t space : spaces_) places.push_back({space, 1});
    if (spaces_.size() >= count) return places;
    for (const size_t at : line_breaks(output_))
      if (std::ranges::binary_search(joints_, at) && output_[at - 1] != ' ') places.push_back({at, 0});
    std::ranges::sort(places, {}, &LinePlace::at);
    return places;
  }
  /// Writes line ends into the text, so that there are as many lines as in the source, if possible.
  void break_lines() {
    const std::string_view raw = source_.substr(pieces_[segment_.first].begin,
                                                pieces_[segment_.last - 1].end - pieces_[segment_.first].begin);
    const bool by_return = language_ == MarkupLanguage::cues && raw.find('\n') == raw.npos;
    const char line_feed = by_return ? '\r' : '\n';
    std::vector<double> shares;  // the share of the source before each of its line ends
    for (size_t at = raw.find(line_feed); at != raw.npos; at = raw.find(line_feed, at + 1))
      shares.push_back(static_cast<double>(at) / static_cast<double>(raw.size()));
    const auto written = static_cast<size_t>(std::count(output_.begin(), output_.end(), line_feed));
    const size_t wanted = shares.size() - std::min(shares.size(), written);
    if (wanted == 0) return;
    const std::vector<LinePlace> places = line_places(wanted);
    const size_t count = std::min(wanted, places.size());
    const std::string line_end = raw.find("\r\n") != raw.npos ? "\r\n" : std::string(1, line_feed);
    std::vector<LinePlace> breaks;
    size_t next = 0;  // the first place that may be chosen
    for (size_t i = 0; i < count; ++i) {
      const double best = shares[i] * static_cast<double>(output_.size());
      const auto distance = [&](size_t place) {
        return std::abs(static_cast<double>(places[place].at) - best);
      };
      const size_t last = places.size() - (count - i);
      while (next < last && distance(next + 1) < distance(next)) ++next;
      breaks.push_back(places[next++]);
    }
    std::string broken;
    size_t copied = 0;
    for (const LinePlace& place : breaks) {
      broken.append(output_, copied, place.at - copied) += line_end;
      copied = place.at + place.size;
    }
    output_ = broken.append(output_, copied);
  }

  std::string_view source_;
  const Pieces& pieces_;
  const Segment& segment_;
  std::string_view text_;
  Placement placement_;
  MarkupLanguage language_;
  bool marks_may_be_words_ = language_ == MarkupLanguage::plain || language_ == MarkupLanguage::xliff ||
                             language_ == MarkupLanguage::markdown;
  size_t placeholder_size_;
  std::vector<SegmentPlaceholder> placeholders_;
  size_t next_placeholder_ = 0;
  std::string output_;
  std::vector<size_t> spaces_;       // positions in the output of spaces of the text
  std::vector<size_t> joints_;       // those between two characters of it
  size_t written_ = 0;               // number of bytes of the text that have been written
  bool needs_space_ = false;         // whether a space must precede the next text
  bool must_separate_word_ = false;  // whether a letter must not follow without a space
  size_t opened_at_ = SIZE_MAX;      // the size of the output after the last start tag
  bool skips_space_ = false;         // whether the space at the beginning of the next text is skipped
  size_t next_in_order_;             // the first piece that may be the next mark that keeps its order
};

}  // namespace

std::string write_segment(const DocumentPieces& document, const Segment& segment,
                          const TranslatedText& translation, std::vector<SegmentPlaceholder> placeholders) {
  return SegmentWriter(document, segment, translation, std::move(placeholders)).write();
}

}  // namespace sixfold
