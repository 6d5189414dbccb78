#pragma once
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/file_stamps.h"

namespace sixfold {

/// A text that is stored completely, such as the validation text of a run, with the stamps of its files.
struct KeptText {
  std::vector<FileStamp> files;
  Corpus corpus;

  std::string hash() const;  ///< hash of the lines
};

/// Convert a text to JSON and back. Parsing throws an input error that begins with `where`.
std::string to_json_text(const KeptText& text);
KeptText parse_kept_text(const std::string& json, const std::string& where);

}  // namespace sixfold
