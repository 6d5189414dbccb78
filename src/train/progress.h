#pragma once
#include <optional>
#include <string>

#include "base/file.h"
#include "train/state.h"
#include "train/task.h"
#include "train/trainer.h"

namespace sixfold {

/// Reports the progress of a run: on a terminal one line that is updated in place, elsewhere plain lines; and
/// all figures in train.jsonl.
class Progress {
 public:
  /// Appends to the file `jsonl`, after truncating it to `TrainingState::log_bytes` of the state in which the
  /// run starts or resumes. If the name is empty, nothing is reported, as in processes other than the root.
  /// `receive` is called with each entry that is appended.
  Progress(const std::string& jsonl, const TrainingState& state, LogEntryReceiver receive = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// To be called after each update. Updates the line on the terminal.
  void update(const TrainingState& state, double learning_rate);
  /// Writes a progress line and an entry of the log for the updates since the last one.
  void write_line(const TrainingState& state, double learning_rate);
  /// Reports the scores of a validation, and writes its samples to the log. `better`: the scores are the best
  /// so far.
  void validation(const TrainingState& state, const Evaluation& evaluation, bool better);
  /// Logs a diagnosis as a warning.
  void diagnosis(const TrainingState& state, const Finding& finding);
  /// Reports that the run went back from update `from` to the checkpoint of update `to`.
  void rollback(int64_t from, int64_t to, const std::string& why);
  /// Prints a line of text.
  void print(const std::string& text);

  /// The length of the log in bytes.
  int64_t log_bytes() const { return log_ ? log_->bytes() : 0; }
  /// Flushes the log to disk.
  void flush_log() {
    if (log_) log_->flush_to_disk();
  }
  /// Reports that the last update of the run is planned anew, on the terminal only if it is a tenth earlier or
  /// later than was shown. `limit`: the limit that it follows from, "3 epochs".
  void plan(const PlannedEnd& end, const std::string& limit);

 private:
  double tokens_per_second(const TrainingState& state) const;
  std::optional<double> seconds_left(const TrainingState& state) const;
  std::string describe(const TrainingState& state, double learning_rate) const;
  void clear_line();
  void write(const std::string& entry);

  std::optional<AppendingFile> log_;
  LogEntryReceiver receive_;
  bool terminal_;
  bool line_shown_ = false;
  double shown_at_ = 0;
  int64_t shown_end_ = 0;  ///< the last update that was planned, as it was shown last
  double started_;         ///< time and update at which this process started
  int64_t started_update_;
  double interval_began_;  ///< time and tokens since which the speed is measured
  int64_t interval_tokens_;
};

}  // namespace sixfold
