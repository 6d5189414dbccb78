#pragma once
#include <string>
#include <vector>

#include "metrics/evaluation.h"

namespace sixfold::cli {

/// The best translation of each line, and how good it may be; not a number for a line that was not translated.
struct RatedLines {
  std::vector<std::string> texts;
  std::vector<double> confidence, mean_log_probability;
};

/// Reads what `sixfold translate --confidence --format jsonl` writes; "-" is standard input. Throws an input
/// error that names the line for anything else, and if there is no line.
RatedLines read_rated_lines(const std::string& path);

/// The same beside the chrF of the lines, from 0 to 1, without those that were not translated.
struct LineRatings {
  std::vector<double> confidence, mean_log_probability, chrf;
};
LineRatings ratings_of(const RatedLines& lines, const References& references);

}  // namespace sixfold::cli
