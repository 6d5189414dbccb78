#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/task.h"

namespace sixfold {

/// Whether the run in a folder has ended with exactly this config, so that its model is the result and training
/// would do nothing more. The number of threads and the names of files may differ. Also false if the run's
/// files can't be read, or if the training text has changed since.
bool is_finished(const TaskConfig& config, const std::string& run);

/// The keys in which this config differs from that of the run's newest checkpoint, or of its model if there is
/// no checkpoint; and data.train if the model was trained on another text. A longer training does not count,
/// since it goes on where the run ended, nor do the number of threads and the names of files. None if the run
/// has neither checkpoint nor model yet, or if its files can't be read.
std::vector<std::string> changed_since_begun(const TaskConfig& config, const std::string& run);

/// What a finished run recorded about its model, RUN/model.
struct RunResult {
  int64_t updates = 0;  ///< of the run
  /// The update after which the weights of the model (or their moving average) were saved: the best at
  /// validation, or the last. 0: the model is the mean of several checkpoints.
  int64_t model_update = 0;
  /// The scores of the model at validation, by name ("loss", "perplexity", "bleu"). Empty if these weights were
  /// not validated, as the mean of several checkpoints never is.
  std::map<std::string, double> validation;
  std::string precision;  ///< of matrix products in training: "fp32" or "bf16"
  /// Seconds of training, with validation. Empty if the run's checkpoints have been removed.
  std::optional<double> seconds;
  std::optional<double> operations;  ///< as in `TrainingState`; empty also if they are not known
};

/// Reads the result of a finished run. Throws an input error if a file is missing or damaged.
RunResult read_run_result(const std::string& run);

}  // namespace sixfold
