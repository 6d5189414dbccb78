#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// A line of an n-best list in the format of Moses: "0 ||| text ||| logprob= -2.8 ||| -1.2". Some programs add
/// further fields, such as alignments, after another "|||".
struct NBestLine {
  size_t index = 0;      ///< number of the source line, from 0
  std::string text;      ///< the translation; "|" within it is written &#124;
  std::string features;  ///< names and values of the features of the score
  double score = 0;
  std::optional<std::string> extra_fields;  ///< the text after the score
};

/// Reads a line. Throws an input error that begins with `place`.
NBestLine parse_n_best_line(std::string_view line, const std::string& place);
/// The line, without a line end.
std::string to_text(const NBestLine& line);

}  // namespace sixfold
