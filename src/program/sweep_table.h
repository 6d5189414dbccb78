#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/metric.h"
#include "program/plot/svg.h"

namespace sixfold::cli {

/// A training of a sweep, as far as it has come.
struct SweepResult {
  std::string name, changes;  ///< as in `SweepRow`
  std::string precision;      ///< of products in training: "fp32" or "bf16"; empty: not known yet
  std::string run;            ///< its folder
  std::string failure;        ///< why it failed; empty if it did not
  bool finished = false;
  int64_t updates = 0;
  int64_t model_update = 0;  ///< as in `RunResult`
  int64_t parameters = 0;
  std::map<std::string, double> validation;  ///< the scores of the model, by name
  std::optional<double> seconds;             ///< of training
  std::optional<double> test_score;          ///< by `sweep_test_metric`
};

/// The results of a sweep, and how test scores were computed.
struct SweepTable {
  std::string title;  ///< of the picture
  std::vector<SweepResult> rows;
  std::string test_text;  ///< "test.en, test.de"; empty: no test
  std::string signature;  ///< of test scores
};

/// The metric of translations of a test text.
const MetricEntry& sweep_test_metric();

/// The table as Markdown. Columns that no row has are left out.
std::string sweep_markdown(const SweepTable& table);
/// The same as JSON.
std::string sweep_json(const SweepTable& table);
/// The scores, sizes and times of the finished rows as a picture. At least one must have finished.
std::string sweep_svg(const SweepTable& table);

}  // namespace sixfold::cli
