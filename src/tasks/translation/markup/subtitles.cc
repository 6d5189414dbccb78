#include <algorithm>

#include "base/ascii.h"
#include "tasks/translation/markup/subtitle_lines.h"
#include "tasks/translation/markup/translate_pieces.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

bool is_number(std::string_view line) {
  line = trim_spaces(line);
  return !line.empty() && std::all_of(line.begin(), line.end(), is_ascii_digit);
}

/// Finds the texts of subtitles in SubRip format.
class SubtitlePieces {
 public:
  explicit SubtitlePieces(const MarkupSource& source)
      : source_(source),
        lines_(lines_of(source.bytes)),
        pieces_(source, MarkupLanguage::plain),
        text_(source, TextMarks::subtitles, pieces_) {}

  Pieces read() {
    bool begun = false;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const std::string_view line = text_of(i);
      const bool times = is_times(line),
                 number = is_number(line) && i + 1 < lines_.size() && is_times(text_of(i + 1));
      const bool blank = trim_spaces(line).empty();
      if (times || number || blank) {
        text_.end();
        begun = begun || times;
        continue;
      }
      if (!begun)
        throw_markup_error(source_, lines_[i].begin,
                           "is neither the number nor the times (00:01:02,500 --> 00:01:04,000) of a subtitle");
      text_.add(lines_[i]);
    }
    text_.end();
    return pieces_.take();
  }

 private:
  std::string_view text_of(size_t i) const {
    return source_.bytes.substr(lines_[i].begin, lines_[i].end - lines_[i].begin);
  }

  const MarkupSource& source_;
  const std::vector<DocumentLine> lines_;
  PieceList pieces_;
  SpokenText text_;
};

}  // namespace

std::string translate_srt(std::string_view srt, const TextTranslator& translate, const std::string& name) {
  const MarkupSource source{srt, name};
  require_text(source);
  // A translation must not look like times, nor have two spaces in a row, between which a line would be empty.
  const TextTranslator without_times = [&](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> translations = translate(texts);
    for (TranslatedText& translation : translations) {
      for (size_t at; (at = translation.text.find("-->")) != std::string::npos;) translation.text.erase(at, 1);
      translation.text = with_single_spaces(translation.text);
    }
    return translations;
  };
  return translate_pieces(source, SubtitlePieces(source).read(), MarkupLanguage::plain, without_times);
}

}  // namespace sixfold
