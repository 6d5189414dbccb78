#include "markup/translate_markup.h"

#include "markup/placement.h"
#include "markup/segment.h"

namespace sixfold {
namespace {

/// Writes the translation of a segment with its elements.
class SegmentWriter {
 public:
  SegmentWriter(std::string_view source, const Pieces& pieces, const Segment& segment,
                const TranslatedText& translation, std::string& output)
      : source_(source),
        pieces_(pieces),
        segment_(segment),
        text_(translation.text),
        placement_(place_elements(segment, translation)),
        output_(output) {}

  void write() {
    size_t text = segment_.first, text_end = segment_.last;
    while (pieces_[text].kind != PieceKind::text) ++text;
    while (pieces_[text_end - 1].kind != PieceKind::text) --text_end;
    write_space(segment_.first, text);
    write_children(segment_.elements.size());
    write_text(text_.size());
    write_space(text_end, segment_.last);
  }

 private:
  /// White space between the tags at the ends of the segment.
  void write_space(size_t first, size_t last) {
    for (size_t i = first; i < last; ++i)
      if (pieces_[i].kind == PieceKind::space) write_piece(i);
  }
  void write_piece(size_t i) {
    if (i != Piece::none) output_ += source_.substr(pieces_[i].begin, pieces_[i].end - pieces_[i].begin);
  }
  void write_text(size_t end) {
    output_ += escape_markup(text_.substr(written_, end - written_));
    written_ = end;
  }
  void write_children(size_t parent) {
    for (const size_t i : placement_.children[parent]) {
      write_text(placement_.ranges[i].begin);
      write_piece(segment_.elements[i].open);
      write_children(i);
      write_text(placement_.ranges[i].end);
      write_piece(segment_.elements[i].close);
    }
  }

  std::string_view source_;
  const Pieces& pieces_;
  const Segment& segment_;
  std::string_view text_;
  Placement placement_;
  std::string& output_;
  size_t written_ = 0;  // bytes of the text
};

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
    SegmentWriter(source.bytes, pieces, segments[i], translations[i], output).write();
    written = pieces[segments[i].last - 1].end;
  }
  return output += source.bytes.substr(written);
}

}  // namespace

std::string translate_html(std::string_view html, const TextTranslator& translate, const std::string& name) {
  const MarkupSource source{html, name};
  require_text(source);
  return translate_pieces(source, html_pieces(source), MarkupLanguage::html, translate);
}

std::string translate_xml(std::string_view xml, const TextTranslator& translate, const XmlOptions& options,
                          const std::string& name) {
  const MarkupSource source{xml, name};
  require_text(source);
  return translate_pieces(source, xml_pieces(source, options), MarkupLanguage::xml, translate);
}

}  // namespace sixfold
