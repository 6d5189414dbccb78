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

/// The files that systems are compared with, and how all files are read.
struct EvaluatedFiles {
  std::vector<std::string> references;
  std::string source;  ///< empty: none
  InvalidUtf8 invalid = InvalidUtf8::error;
  bool line_confidence = false;          ///< the outputs of the only system are lines with their confidence
  std::vector<const MetricEntry*> rows;  ///< the metrics that compare them, each once

  bool compares_only(LineContent content) const;
};

/// Translations and their references.
struct EvaluatedText {
  std::vector<std::vector<std::vector<std::string>>> systems;  ///< the lines of each run of each system
  References references;
  std::vector<std::string> sources = {};  ///< empty: not known
  std::optional<RatedLines> rated = {};   ///< those of the only system
};

/// Reads all files. Throws an input error that names the file, and the line, if one is empty, lacks a line that
/// another has, or can't be compared by one of the metrics.
EvaluatedText read_texts(const EvaluatedFiles& files, const std::vector<System>& systems);
/// The parts of all lines that a metric compares.
EvaluatedText compared_parts(EvaluatedText text, LineContent content);

}  // namespace sixfold::cli
