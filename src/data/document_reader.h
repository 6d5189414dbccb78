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
  /// `next` waits for input, as of a pipe, it calls `waiting` again and again, which may throw.
  DocumentReader(std::vector<std::string> files, TextUnit unit, InvalidUtf8 invalid,
                 std::function<void()> waiting = {});

  enum class Event { line, end_of_document, end };
  /// Reads on: a line of the present text, its end, or the end of the last file. Throws as `LineReader`, and by
  /// `InvalidUtf8::error` as `make_valid`.
  Event next(std::string& line);

  int64_t bytes() const { return bytes_; }  ///< of the lines that were returned, with a line end each
  /// The share of the bytes of all files that was read, from 0 to 1.
  double part_read() const;

 private:
  bool separates(const std::string& line) const;
  Event end_document();

  std::vector<std::string> files_;
  TextUnit unit_;
  InvalidUtf8 invalid_;
  std::function<void()> waiting_;
  size_t file_ = 0;
  std::unique_ptr<LineReader> reader_;
  bool in_document_ = false, ends_ = false;
  int64_t bytes_ = 0;
};

/// Encodes what a reader reads. `append` receives ids of the present text, in order, and `end` is called at its
/// end. Line feeds stand between the lines of a text, and after each line of a stream. Some thousand lines are
/// in memory at a time, or a whole text if the tokenizer encodes whole texts and can't cut them. `threads` does
/// not affect the result.
void encode_documents(DocumentReader& reader, TextUnit unit, const Tokenizer& tokenizer, int threads,
                      const std::function<void(std::span<const int32_t>)>& append,
                      const std::function<void()>& end);

}  // namespace sixfold
