#pragma once
#include <string>
#include <vector>

#include "metrics/evaluation.h"

namespace sixfold::cli {

/// What is evaluated, and how it is written.
struct EvaluationForm {
  /// The systems, as people named them: a file, or several runs of a system separated by commas. The first is
  /// the baseline.
  std::vector<std::string> systems;
  std::optional<BootstrapOptions> resampling;
  RandomizationOptions randomization;
  int width = 1;  ///< digits after the decimal point of a score
};

/// What a metric says of the systems.
struct EvaluationReport {
  std::string_view name;
  std::string signature;
  std::vector<std::vector<SystemScore>> systems;  ///< the runs of each
  std::vector<SystemDifference> differences;      ///< of each further system from the first
};

/// The reports as text: a line for each metric, as sacreBLEU writes it, if there is one system of one run;
/// otherwise a table in Markdown, with a star at what differs significantly from the first system.
std::string evaluation_text(const std::vector<EvaluationReport>& reports, const EvaluationForm& form);
/// The reports as JSON: for each metric and system an object with the fields of sacreBLEU's JSON.
std::string evaluation_json(const std::vector<EvaluationReport>& reports, const EvaluationForm& form);

}  // namespace sixfold::cli
