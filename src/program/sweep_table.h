#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/evaluation.h"
#include "program/plot/svg.h"

namespace sixfold::cli {

/// The state and the results of one training of a sweep.
struct SweepRun {
  std::string run;  ///< its folder
  uint64_t seed = 0;
  std::string precision;        ///< of matrix products in training: "fp32" or "bf16"; empty: not known yet
  std::string tokenizer;        ///< its hash; empty: not known
  std::string validation_text;  ///< a hash of its files; empty: not known
  std::string failure;          ///< why it failed; empty if it did not
  bool finished = false;
  int64_t updates = 0;
  int64_t model_update = 0;  ///< as in `RunResult`
  int64_t parameters = 0;
  std::map<std::string, double> validation;  ///< the scores of the model, by name
  std::optional<double> seconds;             ///< of training
  std::optional<double> operations;          ///< of the matrix products of training
  std::optional<SystemScore> test;           ///< by `sweep_test_metric`
};

/// A row of a sweep: trainings that differ in their seeds only.
struct SweepResult {
  std::string name, changes;   ///< as in `SweepRow`
  std::string differences;     ///< conditions that differ because --may-differ allows it: "version 0.1.0"
  std::vector<SweepRun> runs;  ///< at least one
  /// The difference of the test scores from the first row; set if both rows are complete and have enough runs.
  std::optional<SystemDifference> test_difference;

  /// Whether all trainings have finished. Differences are tested only then: testing after each training, and
  /// stopping at a significant result, would find too many differences.
  bool complete() const;
  /// Whether differences from this row can be tested.
  bool testable() const { return complete() && runs.size() >= min_compared_runs; }
};

/// The results of a sweep, and how test scores were computed.
struct SweepTable {
  std::string title;  ///< of the picture
  std::vector<SweepResult> rows;
  std::string test_text;  ///< "test.en, test.de"; empty: no text was translated
  std::string signature;  ///< of test scores
};

/// The metric of translations of a test text.
const MetricEntry& sweep_test_metric();

/// The table as Markdown, with means and standard deviations for rows with several trainings. A star marks
/// scores that differ significantly from those of the first row. Columns without any value are left out.
std::string sweep_markdown(const SweepTable& table);
/// The same as JSON. A row with one training has the values of this training; a row with several has them in
/// `runs`.
std::string sweep_json(const SweepTable& table);
/// The scores, sizes and times of the finished trainings as a picture. At least one must have finished.
std::string sweep_svg(const SweepTable& table);

}  // namespace sixfold::cli
