#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sixfold {

/// A line of a run's train.jsonl.
struct LogEntry {
  int64_t update = 0;
  /// "loss", "learning_rate", "gradient_norm", "tokens_per_second", "memory_mb", "seconds", "seconds_left",
  /// "last_update" (at which the run ends; 0: not known yet), "validation loss", "validation bleu", ... Values
  /// that are not finite are null in the log, and NaN here.
  std::vector<std::pair<std::string, double>> values;
  std::string diagnosis, text;  ///< the id and the text of a diagnosis (train/diagnosis.h); empty: none
  std::string samples;          ///< of a validation: a JSON array (`ValidationSample`); empty: none
};

/// Throws an input error that begins with `place` if the line is not one of a training log.
LogEntry parse_log_line(const std::string& line, const std::string& place);

/// Reads the entries of a run's train.jsonl. An incomplete line, as a crash of the machine can leave it, is
/// skipped; the function returns a warning about such lines, or an empty text. Throws an input error with file
/// and line if the file is not a training log, or is empty.
std::string read_training_log(const std::string& path, const std::function<void(const LogEntry&)>& take);

/// The last part of the path of a run's folder, or of the folder of its train.jsonl.
std::string name_of_run(const std::string& path);
/// The names of runs; if several have the same name, their whole paths.
std::vector<std::string> names_of_runs(const std::vector<std::string>& paths);
/// Replaces the folders of sweeps by those of their runs, sorted by name; other paths stay. Runs without a log
/// are left out. Throws an input error for a sweep of which no run has a log.
std::vector<std::string> with_runs_of_sweeps(const std::vector<std::string>& paths);

/// The values of a quantity over the updates of a run.
struct LoggedCurve {
  std::vector<double> updates, values;
};

/// Returns the curves of a run's train.jsonl by name: "loss", "learning_rate", "gradient_norm", "validation
/// loss", "validation bleu", ... Logs the warning that the other `read_training_log` returns, and throws as
/// that does.
std::map<std::string, LoggedCurve> read_training_log(const std::string& path);

}  // namespace sixfold
