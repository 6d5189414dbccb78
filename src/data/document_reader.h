#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/text_unit.h"
#include "data/lines.h"
#include "text/tokenizer.h"

namespace sixfold {

/// Reads files as the texts of a language model, line by line. Lines without visible characters separate
/// paragraphs and are no text of their own; within a file or a stream they are kept.
class DocumentReader {
 public:
  /// Checks that all files exist and may be read, before any is read. Throws as `require_readable`. While
  /// `next` waits for input, such as that of a pipe, it calls `on_wait` repeatedly; `on_wait` may throw.
  DocumentReader(std::vector<std::string> files, TextUnit unit, InvalidUtf8 invalid,
                 std::function<void()> on_wait = {});

  enum class Event { line, end_of_document, end };
  /// Returns the next event: a line of the current text, the end of this text, or the end of the last file.
  /// Throws as `LineReader`, and by `InvalidUtf8::error` as `make_valid`.
  Event next(std::string& line);

  int64_t bytes() const { return bytes_; }  ///< of the lines that were returned, with a line end each
  /// The fraction of all files that was read, from 0 to 1. Each file counts the same.
  double fraction_read() const;

 private:
  bool is_separator(const std::string& line) const;
  Event end_document();

  std::vector<std::string> files_;
  TextUnit unit_;
  InvalidUtf8 invalid_;
  std::function<void()> on_wait_;
  size_t file_ = 0;
  std::unique_ptr<LineReader> reader_;
  bool in_document_ = false, end_pending_ = false;
  int64_t bytes_ = 0;
};

/// Encodes what a reader reads. `append` receives the ids of the current text, in order, and `end` is called at
/// its end. Line feeds are put between the lines of a text, and after each line of a stream. A few thousand
/// lines are in memory at a time, or a whole text if the tokenizer encodes whole texts and can't cut them.
/// `threads` does not affect the result.
void encode_documents(DocumentReader& reader, TextUnit unit, const Tokenizer& tokenizer, int threads,
                      const std::function<void(std::span<const int32_t>)>& append,
                      const std::function<void()>& end);

}  // namespace sixfold
