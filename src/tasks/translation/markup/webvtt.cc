#include "tasks/translation/markup/subtitle_lines.h"
#include "tasks/translation/markup/translate_pieces.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Finds the texts of the cues. Blocks are those of the WebVTT standard (section 6.1): an empty line ends a
/// block, and a line with an arrow begins a new block unless it is the first or second line of its block.
class CuePieces {
 public:
  explicit CuePieces(const MarkupSource& source)
      : source_(source),
        lines_(lines_of(source.bytes, /*cr_ends_line=*/true)),
        pieces_(source, MarkupLanguage::cues) {}

  Pieces read() {
    constexpr std::string_view signature = "WEBVTT";
    const std::string_view first = lines_.empty() ? "" : line(0), rest = first.substr(0, signature.size() + 1);
    if (!first.starts_with(signature) ||
        (rest.size() > signature.size() && rest.back() != ' ' && rest.back() != '\t'))
      throw_markup_error(source_, 0, "the first line of a WebVTT file begins with the word {}", signature);
    SpokenText text(source_, TextMarks::cues, pieces_);
    for (size_t i = skip_block(1); i < lines_.size();) {
      const size_t times = has_arrow(i) ? i : i + 1;
      if (!has_arrow(times)) {  // a comment, style or region, or a block that players ignore
        i = skip_block(i + 1);
        continue;
      }
      if (!is_times(line(times)))
        throw_markup_error(source_, lines_[times].begin,
                           "has an arrow, but is not the times of a cue (00:01:02.500 --> 00:01:04.000)");
      const size_t end = skip_block(times + 1);
      for (i = times + 1; i < end; ++i) text.add(lines_[i]);
      text.end();
    }
    return pieces_.take();
  }

 private:
  std::string_view line(size_t i) const {
    return source_.bytes.substr(lines_[i].begin, lines_[i].end - lines_[i].begin);
  }
  bool has_arrow(size_t i) const { return i < lines_.size() && line(i).find("-->") != std::string_view::npos; }
  /// The first line from `i` on that does not belong to the block before it.
  size_t skip_block(size_t i) const {
    while (i < lines_.size() && !line(i).empty() && !has_arrow(i)) ++i;
    return i;
  }

  const MarkupSource& source_;
  const std::vector<DocumentLine> lines_;
  PieceList pieces_;
};

}  // namespace

std::string translate_webvtt(std::string_view vtt, const TextTranslator& translate, const std::string& name) {
  const MarkupSource source{vtt, name};
  require_text(source);
  const TextTranslator without_empty_lines = [&](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> translations = translate(texts);
    for (auto& [text, cut] : translations) {
      text = with_single_spaces(replace_nul(std::move(text)));  // empty lines would end the cue
      if (text.empty()) text = "\u00A0";
    }
    return translations;
  };
  return translate_pieces(source, CuePieces(source).read(), MarkupLanguage::cues, without_empty_lines);
}

}  // namespace sixfold
