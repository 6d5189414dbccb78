#include "markup/translate_pieces.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "markup/placement.h"
#include "markup/segment.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Writes the translation of a segment with its elements.
class SegmentWriter {
 public:
  SegmentWriter(std::string_view source, const Pieces& pieces, const Segment& segment,
                const TranslatedText& translation, MarkupLanguage language)
      : source_(source),
        pieces_(pieces),
        segment_(segment),
        text_(translation.text),
        placement_(place_elements(segment, translation)),
        language_(language),
        next_argument_(segment.first) {}

  std::string write() {
    size_t text = segment_.first, text_end = segment_.last;
    while (pieces_[text].kind != PieceKind::text) ++text;
    while (pieces_[text_end - 1].kind != PieceKind::text) --text_end;
    write_space(segment_.first, text);
    write_children(segment_.elements.size());
    write_text(text_.size());
    write_space(text_end, segment_.last);
    if (language_ == MarkupLanguage::plain) break_lines();
    return std::move(output_);
  }

 private:
  /// White space between the tags at the ends of the segment.
  void write_space(size_t first, size_t last) {
    for (size_t i = first; i < last; ++i)
      if (pieces_[i].kind == PieceKind::space) write_piece(i);
  }
  /// In a plain document a mark may stand for a word, so that white space beside it stays there.
  void write_mark(size_t i) {
    const auto is_space = [&](size_t piece) {
      return language_ == MarkupLanguage::plain && piece >= segment_.first && piece < segment_.last &&
             pieces_[piece].kind == PieceKind::space;
    };
    const bool before = i > 0 && is_space(i - 1), after = is_space(i + 1);
    if (before && !output_.empty() && output_.back() != ' ') write_space_of_text();
    // A tag stands for nothing: where it has white space on one side, the translation has it on one side too.
    const bool one_side = source_[pieces_[i].begin] == '<' && output_.ends_with(' ') && !(before && after);
    write_piece(argument_in_place_of(i));
    wants_space_ = after && !one_side;
    skips_space_ = one_side;
  }

  /// Whether a mark is a conversion of printf that takes the next argument: not "%1$s", "%(name)s" or "%%".
  bool takes_next_argument(size_t i) const {
    const std::string_view mark = source_.substr(pieces_[i].begin, pieces_[i].end - pieces_[i].begin);
    const size_t percent = mark.find('%');
    if (percent == mark.npos || percent + 1 == mark.size()) return false;
    const std::string_view rest = mark.substr(percent + 1);
    const size_t number_end = rest.find_first_not_of("0123456789");
    return rest[0] != '(' && rest[0] != '{' && rest[0] != '%' &&
           !(number_end != rest.npos && number_end > 0 && rest[number_end] == '$');
  }
  /// The mark to write where `i` has its place: conversions that take the next argument keep their order, since
  /// a program would read its arguments by the wrong types otherwise.
  size_t argument_in_place_of(size_t i) {
    if (language_ != MarkupLanguage::plain || !takes_next_argument(i)) return i;
    for (; next_argument_ < segment_.last; ++next_argument_)
      if (pieces_[next_argument_].kind == PieceKind::mark && takes_next_argument(next_argument_))
        return next_argument_++;
    return i;
  }
  void write_space_of_text() {
    spaces_.push_back(output_.size());
    output_ += ' ';
  }
  void write_piece(size_t i) {
    if (i != Piece::none) output_ += source_.substr(pieces_[i].begin, pieces_[i].end - pieces_[i].begin);
  }
  void write_text(size_t end) {
    const std::string_view part = text_.substr(written_, end - written_);
    written_ = end;
    if (language_ != MarkupLanguage::plain) return void(output_ += escape_markup(part));
    for (const char c : one_line(replace_invalid_utf8(part))) {
      if (std::exchange(skips_space_, false) && c == ' ') continue;
      if (c == ' ' || wants_space_) write_space_of_text();
      wants_space_ = false;
      if (c != ' ') output_ += c;
    }
  }
  void write_children(size_t parent) {
    for (const size_t i : placement_.children[parent]) {
      write_text(placement_.ranges[i].begin);
      if (segment_.elements[i].mark)
        write_mark(segment_.elements[i].open);
      else
        write_piece(segment_.elements[i].open);
      write_children(i);
      write_text(placement_.ranges[i].end);
      write_piece(segment_.elements[i].close);
    }
  }

  /// Replaces spaces of the text by line ends, so that there are as many lines as in the source.
  void break_lines() {
    const std::string_view raw = source_.substr(pieces_[segment_.first].begin,
                                                pieces_[segment_.last - 1].end - pieces_[segment_.first].begin);
    std::vector<double> shares;  // of the source, before each of its line ends
    for (size_t at = raw.find('\n'); at != raw.npos; at = raw.find('\n', at + 1))
      shares.push_back(static_cast<double>(at) / static_cast<double>(raw.size()));
    const auto written = static_cast<size_t>(std::count(output_.begin(), output_.end(), '\n'));
    const size_t wanted = std::min(shares.size() - std::min(shares.size(), written), spaces_.size());
    const std::string line_end = raw.find("\r\n") != raw.npos ? "\r\n" : "\n";
    std::vector<size_t> chosen;
    size_t next = 0;  // the first space that may be chosen
    for (size_t i = 0; i < wanted; ++i) {
      const double best = shares[i] * static_cast<double>(output_.size());
      const auto distance = [&](size_t space) { return std::abs(static_cast<double>(spaces_[space]) - best); };
      const size_t last = spaces_.size() - (wanted - i);
      while (next < last && distance(next + 1) < distance(next)) ++next;
      chosen.push_back(spaces_[next++]);
    }
    for (size_t i = chosen.size(); i-- > 0;) output_.replace(chosen[i], 1, line_end);
  }

  std::string_view source_;
  const Pieces& pieces_;
  const Segment& segment_;
  std::string_view text_;
  Placement placement_;
  MarkupLanguage language_;
  std::string output_;
  std::vector<size_t> spaces_;  // of the text, in the output
  size_t written_ = 0;          // bytes of the text
  bool wants_space_ = false;    // before the next text
  bool skips_space_ = false;    // of the next text
  size_t next_argument_;        // the first piece that may be the next conversion
};

}  // namespace

std::string translate_pieces(const MarkupSource& source, const Pieces& pieces, MarkupLanguage language,
                             const TextTranslator& translate) {
  CharacterReferences references(language);
  const std::vector<Segment> segments = segments_of(source.bytes, pieces, references);
  std::string output;
  if (segments.empty()) return output = source.bytes;
  std::vector<std::string> texts;
  for (const Segment& segment : segments) texts.push_back(segment.text);
  const std::vector<TranslatedText> translations = translate(texts);
  require(translations.size() == texts.size(),
          "{}: {} texts were to be translated, but there are {} translations", source.name, texts.size(),
          translations.size());
  size_t written = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (translations[i].text == texts[i]) continue;
    const size_t begin = pieces[segments[i].first].begin;
    output += source.bytes.substr(written, begin - written);
    output += SegmentWriter(source.bytes, pieces, segments[i], translations[i], language).write();
    written = pieces[segments[i].last - 1].end;
  }
  return output += source.bytes.substr(written);
}

}  // namespace sixfold
