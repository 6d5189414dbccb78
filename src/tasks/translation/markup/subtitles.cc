#include <algorithm>

#include "base/ascii.h"
#include "tasks/translation/markup/marked_text.h"
#include "tasks/translation/markup/translate_pieces.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Whether a line is the times of a subtitle: "00:01:02,500 --> 00:01:04,000", perhaps with a position.
bool is_times(std::string_view line) {
  const auto skip_time = [&] {
    size_t colons = 0, digits = 0, i = 0;
    for (; i < line.size() && (is_ascii_digit(line[i]) || line[i] == ':' || line[i] == ',' || line[i] == '.');
         ++i) {
      colons += line[i] == ':' ? 1 : 0;
      digits += is_ascii_digit(line[i]) ? 1 : 0;
    }
    line.remove_prefix(i);
    return colons >= 1 && colons <= 2 && digits >= 4;
  };
  line = trim_spaces(line);
  if (!skip_time()) return false;
  line = trim_spaces(line);
  if (!line.starts_with("-->")) return false;
  line = trim_spaces(line.substr(3));
  return skip_time();
}

bool is_number(std::string_view line) {
  line = trim_spaces(line);
  return !line.empty() && std::all_of(line.begin(), line.end(), is_ascii_digit);
}

struct Line {
  size_t begin, end;  ///< without its line end
};

std::vector<Line> lines_of(std::string_view bytes) {
  std::vector<Line> lines;
  for (size_t begin = bytes.starts_with("\uFEFF") ? 3 : 0; begin < bytes.size();) {
    const size_t feed = std::min(bytes.find('\n', begin), bytes.size());
    const size_t end = feed > begin && feed < bytes.size() && bytes[feed - 1] == '\r' ? feed - 1 : feed;
    lines.push_back({begin, end});
    begin = feed + 1;
  }
  return lines;
}

/// The length of a dash at the beginning of a line, with the white space on both sides; 0: there is none. Two
/// dashes and the sign of a number are none.
size_t dash_length(std::string_view line) {
  const std::string_view text = trim_spaces(line);
  for (const std::string_view dash : {"-", "\u2013", "\u2014"}) {
    if (!text.starts_with(dash) || text.size() == dash.size()) continue;
    const std::string_view said = trim_spaces(text.substr(dash.size()));
    if (said.starts_with('-') || is_ascii_digit(text[dash.size()])) return 0;
    return static_cast<size_t>(said.data() - line.data());
  }
  return 0;
}

/// The text of subtitles, each as one text. A line that begins with a dash begins another: somebody else
/// speaks. The dash is no part of the text, so that it stays.
class SubtitlePieces {
 public:
  explicit SubtitlePieces(const MarkupSource& source)
      : source_(source), lines_(lines_of(source.bytes)), pieces_(source, MarkupLanguage::plain) {}

  Pieces read() {
    bool begun = false;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const std::string_view line = text_of(i);
      const bool times = is_times(line),
                 number = is_number(line) && i + 1 < lines_.size() && is_times(text_of(i + 1));
      const bool blank = trim_spaces(line).empty();
      if (times || number || blank) {
        end_text();
        begun = begun || times;
        continue;
      }
      if (!begun)
        throw_markup_error(source_, lines_[i].begin,
                           "is neither the number nor the times (00:01:02,500 --> 00:01:04,000) of a subtitle");
      const size_t dash = dash_length(line);
      if (dash > 0) end_text();
      if (first_ == none) first_ = lines_[i].begin + dash;
      last_ = lines_[i].end;
    }
    end_text();
    return pieces_.take();
  }

 private:
  static constexpr size_t none = SIZE_MAX;
  std::string_view text_of(size_t i) const {
    return source_.bytes.substr(lines_[i].begin, lines_[i].end - lines_[i].begin);
  }
  void end_text() {
    if (first_ != none) add_marked_text(source_, first_, last_, TextMarks::subtitles, pieces_);
    first_ = none;
  }

  const MarkupSource& source_;
  const std::vector<Line> lines_;
  PieceList pieces_;
  size_t first_ = none, last_ = none;  // the bytes of the text that is read
};

}  // namespace

std::string translate_srt(std::string_view srt, const TextTranslator& translate, const std::string& name) {
  const MarkupSource source{srt, name};
  require_text(source);
  // A translation must not look like times.
  const TextTranslator without_times = [&](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> translations = translate(texts);
    for (TranslatedText& translation : translations)
      for (size_t at; (at = translation.text.find("-->")) != std::string::npos;) translation.text.erase(at, 1);
    return translations;
  };
  return translate_pieces(source, SubtitlePieces(source).read(), MarkupLanguage::plain, without_times);
}

}  // namespace sixfold
