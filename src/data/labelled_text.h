#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "data/lines.h"
#include "data/sequence_store.h"
#include "text/tokenizer.h"

namespace sixfold {

/// Reads files in which each line is a label, a tab and a text. Blank lines are left out. Each file may be
/// gzipped.
class LabelledReader {
 public:
  /// Checks that all files exist and may be read, before any is read. Throws as `require_readable`.
  LabelledReader(std::vector<std::string> files, InvalidUtf8 invalid);

  /// Reads the next label and text, without the spaces around the label. Returns false at the end of the last
  /// file. Throws an input error that names file and line if there is no tab, or no label or text beside it,
  /// and as `make_valid`.
  bool next(std::string& label, std::string& text);

  /// The place of the last line that was read: "path:line".
  std::string place() const { return reader_->place(); }
  int64_t bytes() const { return bytes_; }  ///< of the texts that were returned

 private:
  bool next_line(std::string& line);

  std::vector<std::string> files_;
  InvalidUtf8 invalid_;
  size_t file_ = 0;
  std::unique_ptr<LineReader> reader_;
  int64_t bytes_ = 0;
};

/// Returns the labels of files, in alphabetical order (by bytes). Throws as `LabelledReader`; an input error if
/// there are more than 10,000 or they have more than 500,000 bytes; `Cancelled` when `stop` becomes nonzero.
std::vector<std::string> labels_of(const std::vector<std::string>& files, InvalidUtf8 invalid,
                                   const std::atomic<int>* stop);

/// Encodes labelled texts for a store: a sequence is the number of the label, then the tokens of the text.
/// Throws as `LabelledReader`, and an input error that names file and line if a label is not among `labels`. A
/// few thousand lines are in memory at a time. `threads` does not affect the result.
EncodeFiles labelled_encoder(const Tokenizer& tokenizer, const std::vector<std::string>& labels,
                             InvalidUtf8 invalid, int threads);

}  // namespace sixfold
