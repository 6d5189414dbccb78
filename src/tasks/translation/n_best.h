#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// A line of an n-best list as Moses writes it: "0 ||| text ||| logprob= -2.8 ||| -1.2", and more fields behind
/// bars that some programs add, such as alignments.
struct NBestLine {
  size_t index = 0;      ///< number of the source line, from 0
  std::string text;      ///< the translation; bars within it are written &#124;
  std::string features;  ///< names and values of what the score is made of
  double score = 0;
  std::optional<std::string> others;  ///< the fields behind the score
};

/// Reads a line. Throws an input error that begins with `place`.
NBestLine parse_n_best_line(std::string_view line, const std::string& place);
/// The line, without a line end.
std::string to_text(const NBestLine& line);

}  // namespace sixfold
