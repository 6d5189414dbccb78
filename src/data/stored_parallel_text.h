#pragma once
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/file_stamps.h"

namespace sixfold {

/// A parallel text that is stored as JSON, such as the validation text of a run, with the stamps of its files.
struct StoredParallelText {
  std::vector<FileStamp> files;
  Corpus corpus;

  std::string hash() const;  ///< hash of the lines
};

/// Convert a text to JSON and back. Parsing throws an input error that begins with `where`.
std::string to_json_text(const StoredParallelText& text);
StoredParallelText parse_stored_parallel_text(const std::string& json, const std::string& where);

}  // namespace sixfold
