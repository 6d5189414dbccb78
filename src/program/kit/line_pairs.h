#pragma once
#include <string>
#include <utility>
#include <vector>

#include "data/lines.h"

namespace sixfold::cli {

/// The lines of two files, in pairs and made valid (`make_valid`).
class LinePairs {
 public:
  /// Files to read, or "-" for standard input, which only one of them may be. `relation` is of a line of the
  /// second file to that of the first, for messages: "be the translation of". Throws as `LineReader`.
  LinePairs(const std::string& first, const std::string& second, InvalidUtf8 invalid, std::string relation);

  /// Reads the next pairs, at most `most` or of `most_bytes_at_once`, in place of those that the lists have.
  /// Returns whether there are any.
  /// Throws an input error if only one of the files has ended.
  bool next(size_t most, std::vector<std::string>& firsts, std::vector<std::string>& seconds);

 private:
  const std::string first_name_, second_name_;
  const InvalidUtf8 invalid_;
  const std::string relation_;
  LineReader first_, second_;
};

}  // namespace sixfold::cli
