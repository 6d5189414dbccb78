#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

namespace sixfold {

/// What a run that is limited by minutes takes, in seconds.
struct RunTimes {
  double limit = 0;             ///< of the whole run; 0: there is none
  double update = 0;            ///< of an update
  double validation = 0;        ///< of a validation, once one is measured; before, see `validation_size`
  double checkpoint = 0;        ///< of writing a checkpoint
  double validation_every = 0;  ///< updates between validations; 0: only the last update is followed by one
  double checkpoint_every = 0;  ///< updates between checkpoints; 0: only the last update is followed by one
  double validation_size = 0;   ///< number of updates that take as long as a validation, for an estimate
  double measure_size = 0;      ///< number of updates that take as long as measuring the finished model
};

/// The last update with which the run keeps its limit, if `update` updates are done after `seconds` seconds,
/// and what is due after the last of them is not. After the last update of the run follow a validation, a
/// checkpoint and the model.
int64_t last_update_within(const RunTimes& times, int64_t update, double seconds);

/// Whether a run that ends with update `last_update` would miss its limit by more than a twentieth of the time
/// left, a hundredth of the limit and a second.
bool misses_limit(const RunTimes& times, int64_t update, double seconds, int64_t last_update);

/// Measures what a run takes and plans its last update. A function of the times that it is told; it reads no
/// clock.
class Pace {
 public:
  /// `times`: the limit and the intervals, and estimates of what has not been measured yet.
  explicit Pace(const RunTimes& times) : times_(times), measured_(times.update > 0 ? window() : 0) {}

  /// An update took so many seconds. The first one of a process is not representative, and counts only as long
  /// as nothing else is known.
  void took_update(double seconds);
  void took_validation(double seconds) {
    times_.validation = seconds;
    times_.validation_size = 0;
  }
  void took_checkpoint(double seconds) { times_.checkpoint = seconds; }

  /// Another last update, if the planned one, `last_update`, misses the limit (0: none is planned yet).
  std::optional<int64_t> replanned(int64_t update, double seconds, int64_t last_update) const;

 private:
  /// The seconds over which the time of an update is a mean.
  double window() const { return std::max(times_.limit / 30, 1e-9); }

  RunTimes times_;
  int64_t updates_ = 0;
  double measured_;  ///< seconds of updates, or the window if there was an estimate
};

}  // namespace sixfold
