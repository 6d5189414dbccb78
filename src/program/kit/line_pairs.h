#pragma once
#include <string>
#include <utility>
#include <vector>

#include "data/lines.h"

namespace sixfold::cli {

/// Reads two files in pairs of lines, which are made valid UTF-8 (`make_valid`).
class LinePairs {
 public:
  /// `first`, `second`: files, one of which may be "-" for standard input. `relation` says in messages what a
  /// line of the second file must be for that of the first, as in "be the translation of". Throws as
  /// `LineReader`.
  LinePairs(const std::string& first, const std::string& second, InvalidUtf8 invalid, std::string relation);

  /// Replaces the contents of the lists by the next pairs, up to `max_pairs` or `max_bytes_at_once`. Returns
  /// whether there are any. Throws an input error if only one of the files has ended.
  bool next(size_t max_pairs, std::vector<std::string>& firsts, std::vector<std::string>& seconds);

 private:
  const std::string first_name_, second_name_;
  const InvalidUtf8 invalid_;
  const std::string relation_;
  LineReader first_, second_;
};

}  // namespace sixfold::cli
