#pragma once
#include <optional>
#include <string>
#include <vector>

#include "data/lines.h"
#include "metrics/metric.h"
#include "program/rated_lines.h"

namespace sixfold::cli {

/// A system: the files of its runs, of which there is usually one.
using System = std::vector<std::string>;

/// The files with which the outputs of systems are compared, and how all files are read.
struct EvaluatedFiles {
  std::vector<std::string> references;
  std::string source;  ///< empty: none
  InvalidUtf8 invalid = InvalidUtf8::error;
  bool line_confidence = false;          ///< the only system's outputs are JSON lines with confidences
  std::vector<const MetricEntry*> rows;  ///< the rows of the metrics that are computed, each once

  /// Whether all metrics compare this content.
  bool compares_only(LineContent content) const;
};

/// Translations and their references.
struct EvaluatedText {
  std::vector<std::vector<std::vector<std::string>>> systems;  ///< the lines of each run of each system
  References references;
  std::vector<std::string> sources = {};  ///< empty: not known
  std::optional<RatedLines> rated = {};   ///< the lines of the only system, with `line_confidence`
};

/// Reads all files. Throws an input error that names the file, and the line, if a file is empty, if files
/// differ in their number of lines, or if a metric can't compare them.
EvaluatedText read_texts(const EvaluatedFiles& files, const std::vector<System>& systems);
/// Reduces all lines to the parts that a metric compares: the whole text, labels or answers.
EvaluatedText compared_parts(EvaluatedText text, LineContent content);

}  // namespace sixfold::cli
