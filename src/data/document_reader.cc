#include "data/document_reader.h"

#include <algorithm>

#include "base/error.h"
#include "base/threads.h"
#include "text/utf8.h"

namespace sixfold {

DocumentReader::DocumentReader(std::vector<std::string> files, TextUnit unit, InvalidUtf8 invalid,
                               std::function<void()> on_wait)
    : files_(std::move(files)), unit_(unit), invalid_(invalid), on_wait_(std::move(on_wait)) {
  for (const std::string& file : files_) require_readable(file);
}

/// Whether a line lies between texts.
bool DocumentReader::is_separator(const std::string& line) const {
  return (unit_ == TextUnit::line || unit_ == TextUnit::paragraph) && !has_visible_character(line);
}

DocumentReader::Event DocumentReader::end_document() {
  in_document_ = end_pending_ = false;
  return Event::end_of_document;
}

DocumentReader::Event DocumentReader::next(std::string& line) {
  if (end_pending_) return end_document();
  while (file_ < files_.size()) {
    if (!reader_) reader_ = std::make_unique<LineReader>(files_[file_]);
    while (on_wait_ && !reader_->ready(std::chrono::milliseconds(50))) on_wait_();
    if (!reader_->next(line)) {
      reader_.reset();
      ++file_;
      if (in_document_) return end_document();
      continue;
    }
    if (invalid_ == InvalidUtf8::skip && fault_of_text(line)) continue;  // a skipped line is not a separator
    make_valid(line, *reader_, invalid_);
    if (is_separator(line)) {
      if (in_document_) return end_document();
      continue;
    }
    in_document_ = true;
    end_pending_ = unit_ == TextUnit::line;
    bytes_ += std::ssize(line) + 1;
    return Event::line;
  }
  return Event::end;
}

double DocumentReader::fraction_read() const {
  const double files = static_cast<double>(file_) + (reader_ ? reader_->fraction_read() : 0);
  return files_.empty() ? 1 : files / static_cast<double>(files_.size());
}

namespace {

/// A line with its ids, or the end of a text.
struct Piece {
  std::string line;
  std::vector<int32_t> ids;
  bool ends = false;
};

std::vector<Piece> read_pieces(DocumentReader& reader, size_t max_pieces) {
  std::vector<Piece> pieces;
  while (pieces.size() < max_pieces) {
    Piece piece;
    const DocumentReader::Event event = reader.next(piece.line);
    if (event == DocumentReader::Event::end) break;
    piece.ends = event == DocumentReader::Event::end_of_document;
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

/// A text that is encoded as a whole. It is encoded piece by piece where the tokenizer can cut it without
/// changing the tokens.
class WholeText {
 public:
  WholeText(const Tokenizer& tokenizer, const std::function<void(std::span<const int32_t>)>& append)
      : tokenizer_(tokenizer), append_(append) {}

  void add(std::string_view more) {
    text_ += more;
    if (text_.size() < split_at_) return;
    size_t begin = 0;
    for (std::string_view rest = text_; rest.size() > piece_bytes;
         rest = std::string_view(text_).substr(begin)) {
      size_t cut = tokenizer_.last_cut(rest, piece_bytes);
      if (cut == 0) cut = tokenizer_.last_cut(rest, rest.size());
      if (cut == 0) break;
      append_(tokenizer_.encode_text(rest.substr(0, cut)));
      begin += cut;
    }
    text_.erase(0, begin);
    // Twice its size, so that a text that can't be cut is not searched after each line.
    split_at_ = 2 * std::max(piece_bytes, text_.size());
  }
  void end() {
    append_(tokenizer_.encode_text(text_));
    text_.clear();
    split_at_ = 2 * piece_bytes;
  }

 private:
  static constexpr size_t piece_bytes = 1 << 18;
  const Tokenizer& tokenizer_;
  const std::function<void(std::span<const int32_t>)>& append_;
  std::string text_;
  size_t split_at_ = 2 * piece_bytes;
};

}  // namespace

/// Encodes each text as a whole, for tokenizers whose tokens depend on the lines around them.
static void encode_whole_documents(DocumentReader& reader, TextUnit unit, const Tokenizer& tokenizer,
                                   const std::function<void(std::span<const int32_t>)>& append,
                                   const std::function<void()>& end) {
  WholeText text(tokenizer, append);
  std::string line;
  bool first = true;
  for (DocumentReader::Event event; (event = reader.next(line)) != DocumentReader::Event::end;) {
    if (event == DocumentReader::Event::line) {
      if (!first && unit != TextUnit::stream) line.insert(0, 1, '\n');
      if (unit == TextUnit::stream) line += '\n';
      text.add(line);
      first = false;
      continue;
    }
    text.end();
    end();
    first = true;
  }
}

void encode_documents(DocumentReader& reader, TextUnit unit, const Tokenizer& tokenizer, int threads,
                      const std::function<void(std::span<const int32_t>)>& append,
                      const std::function<void()>& end) {
  if (tokenizer.encodes_whole_texts()) return encode_whole_documents(reader, unit, tokenizer, append, end);
  constexpr size_t block_lines = 4096;
  const std::optional<int32_t> line_end = tokenizer.line_end();
  ThreadPool pool(threads);
  bool first = true;
  while (true) {
    std::vector<Piece> pieces = read_pieces(reader, block_lines);
    if (pieces.empty()) return;
    pool.run(std::ssize(pieces), [&](int64_t i, int) {
      Piece& piece = pieces[static_cast<size_t>(i)];
      if (!piece.ends) piece.ids = tokenizer.encode(piece.line);
    });
    const auto end_line = [&] {
      require(
          line_end.has_value(),
          "the texts have several lines, but the vocabulary has no token for the end of a line; use a "
          "tokenizer of characters or bytes, or one of sentencepiece with byte_fallback, or take each line as "
          "a text of its own");
      append({&*line_end, 1});
    };
    for (const Piece& piece : pieces) {
      if (piece.ends) {
        end();
        first = true;
        continue;
      }
      if (!first && unit != TextUnit::stream) end_line();
      append(piece.ids);
      if (unit == TextUnit::stream) end_line();
      first = false;
    }
  }
}

}  // namespace sixfold
