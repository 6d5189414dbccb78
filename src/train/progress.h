#pragma once
#include <string>

#include "base/file.h"
#include "train/state.h"
#include "train/validate.h"

namespace sixfold {

/// Tells how a run goes: one line that renews itself on a terminal, plain lines elsewhere, and train.jsonl with
/// every figure.
class Progress {
 public:
  /// Appends to `jsonl`, cut back first to what it was at `state`, where the run begins or goes on.
  Progress(const std::string& jsonl, const TrainingState& state);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// After each update: keeps a terminal's line fresh.
  void update(const TrainingState& state, double learning_rate);
  /// Closes a stretch of updates: a plain line and a line of the log.
  void line(const TrainingState& state, double learning_rate);
  void validation(const TrainingState& state, const Scores& scores, bool better);
  /// The run went back from one update to an earlier one.
  void rollback(int64_t from, int64_t to, const std::string& why);
  void say(const std::string& text);

  /// Bytes written to the log.
  int64_t log_bytes() const { return log_.bytes(); }
  /// Sees to it that they are on disk.
  void flush_log() { log_.flush_to_disk(); }

 private:
  double tokens_per_second(const TrainingState& state) const;
  std::string describe(const TrainingState& state, double learning_rate) const;
  void clear_line();

  AppendingFile log_;
  bool terminal_;
  bool line_shown_ = false;
  double shown_at_ = 0;
  double started_;  ///< seconds and updates where this process took over
  int64_t started_update_;
  double stretch_began_;  ///< seconds and tokens where the rate is measured from
  int64_t stretch_tokens_;
};

}  // namespace sixfold
