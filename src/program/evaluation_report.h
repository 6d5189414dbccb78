#pragma once
#include <optional>
#include <string>
#include <vector>

#include "metrics/evaluation.h"
#include "program/rated_lines.h"

namespace sixfold::cli {

/// What is evaluated, and in which form the report is written.
struct EvaluationForm {
  /// The names of the systems, as the user gave them: a file, or several runs of a system separated by commas.
  /// The first is the baseline.
  std::vector<std::string> systems;
  std::optional<BootstrapOptions> resampling;
  RandomizationOptions randomization;
  int width = 1;            ///< digits after the decimal point of a score
  bool score_only = false;  ///< print only the numbers of scores
};

/// The results of one metric for all systems.
struct EvaluationReport {
  std::string name;
  std::string signature;
  std::vector<SystemScore> lines;                 ///< the score of each line, instead of those of systems
  std::vector<std::vector<SystemScore>> systems;  ///< for each system, the scores of its runs
  std::vector<SystemDifference> differences;      ///< of each further system from the first
};

/// How well the confidence of lines predicts their chrF (docs/generation.md): the correlations, where they are
/// defined, and the calibration error.
struct ConfidenceReport {
  std::optional<double> correlation;                  ///< of the confidence with chrF
  std::optional<double> log_probability_correlation;  ///< of the mean log-probability with chrF
  double calibration_error = 0;
  size_t lines = 0;
};
ConfidenceReport confidence_report(const RatedLines& rated, const References& references);

/// The reports as text: a line for each metric or each line of text, as sacreBLEU writes it, if there is one
/// system of one run; otherwise a table in Markdown, with a star at what differs significantly from the first
/// system.
std::string evaluation_text(const std::vector<EvaluationReport>& reports, const EvaluationForm& form,
                            const std::optional<ConfidenceReport>& rated);
/// The reports as JSON: for each metric and system an object with the fields of sacreBLEU's JSON; for scores of
/// lines, an object on a line for each.
std::string evaluation_json(const std::vector<EvaluationReport>& reports, const EvaluationForm& form,
                            const std::optional<ConfidenceReport>& rated);

}  // namespace sixfold::cli
