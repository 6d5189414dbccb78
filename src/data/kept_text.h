#pragma once
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/file_stamps.h"

namespace sixfold {

/// Text that is kept whole, such as a run's validation text, with what its files were.
struct KeptText {
  std::vector<FileStamp> files;
  Corpus corpus;

  std::string hash() const;  ///< of the lines
};

/// As JSON, and back. Throws an input error that begins with `where`.
std::string to_json_text(const KeptText& text);
KeptText parse_kept_text(const std::string& json, const std::string& where);

}  // namespace sixfold
