#pragma once
#include <map>
#include <string>
#include <vector>

namespace sixfold {

/// A figure over the updates of a run.
struct LoggedCurve {
  std::vector<double> updates, values;
};

/// What a run's train.jsonl holds, by name: "loss", "learning_rate", "gradient_norm", "validation loss",
/// "validation bleu", ... A line that is not whole, as a crash of the machine can leave it, is skipped with a
/// warning. Throws an input error with file and line for what is no such log, and where it is empty.
std::map<std::string, LoggedCurve> read_training_log(const std::string& path);

}  // namespace sixfold
