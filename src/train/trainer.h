#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/api.h"
#include "base/error.h"

namespace sixfold {

class Processes;
class TaskConfig;

/// Receives an entry of train.jsonl, a JSON object, when it has been written. Called by the thread that trains.
using LogEntryReceiver = std::function<void(const std::string& entry)>;

/// The parameters of a run besides its options.
struct TrainRequest {
  std::string run;  ///< the run's folder: config.json, train.jsonl, checkpoints/, best/ and, at the end, model/
  /// Resume from the newest checkpoint, if there is one. The results are bitwise equal to those of an
  /// uninterrupted run.
  bool resume = false;
  /// Also resume on another instruction set; the results then differ in their bits.
  bool other_processor = false;
  bool fit = false;  ///< if batches need more memory than available, process them in smaller parts
  /// When it becomes nonzero: save after the current update and return.
  const std::atomic<int>* stop = nullptr;
  /// The processes of the run, all of which call `train` with the same config and request. The root reads and
  /// writes the run's folder, which all must be able to read. Null: there is one.
  Processes* processes = nullptr;
  /// Returns the time in seconds, for speeds and `train.minutes`. Null: a steady clock of the machine.
  std::function<double()> clock = nullptr;
  /// Receives all entries of train.jsonl: progress, validations with their samples, and others. Called only in
  /// the root process.
  LogEntryReceiver entry = nullptr;
};

struct TrainOutcome {
  std::string model;       ///< folder of the result; empty if the run was stopped before its end
  std::string checkpoint;  ///< the newest checkpoint
  int64_t updates = 0;
};

/// Collective. Runs a training: reads the data, trains, validates, and writes checkpoints and the resulting
/// model. RUN/model is the mean of the last checkpoints if `train.average_last` is more than 1; otherwise the
/// best model at validation if there is one (`checkpoint.keep_best`); otherwise the last weights, or their
/// moving average if there is one. Throws `Error`. For one run in a folder at a time.
SIXFOLD_API TrainOutcome train(const TaskConfig& config, const TrainRequest& request);

}  // namespace sixfold
