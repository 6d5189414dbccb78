#pragma once
#include <map>
#include <string>
#include <vector>

namespace sixfold {

/// The values of a quantity over the updates of a run.
struct LoggedCurve {
  std::vector<double> updates, values;
};

/// Returns the contents of a run's train.jsonl by name: "loss", "learning_rate", "gradient_norm", "validation
/// loss", "validation bleu", ... An incomplete line, as a crash of the machine can leave it, is skipped with a
/// warning. Throws an input error with file and line if the file is not a training log, or is empty.
std::map<std::string, LoggedCurve> read_training_log(const std::string& path);

}  // namespace sixfold
