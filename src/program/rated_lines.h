#pragma once
#include <string>
#include <vector>

#include "metrics/evaluation.h"

namespace sixfold::cli {

/// The best translation of each line, with its confidence and its mean log-probability, which are NaN for a
/// line that was not translated.
struct RatedLines {
  std::vector<std::string> texts;
  std::vector<double> confidence, mean_log_probability;
};

/// Reads the output of `sixfold translate --confidence --format jsonl`; "-" is standard input. Throws an input
/// error that names the line if a line is something else, and if there are no lines.
RatedLines read_rated_lines(const std::string& path);

/// The ratings of the lines that were translated, and their chrF, from 0 to 1.
struct LineRatings {
  std::vector<double> confidence, mean_log_probability, chrf;
};
LineRatings ratings_of(const RatedLines& lines, const References& references);

}  // namespace sixfold::cli
