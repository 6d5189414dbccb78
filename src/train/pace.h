#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

namespace sixfold {

/// The times of the parts of a run that is limited by minutes, in seconds.
struct RunTimes {
  double limit = 0;             ///< of the whole run; 0: there is none
  double update = 0;            ///< of an update
  double validation = 0;        ///< of a validation; 0 until one is measured, when `validation_size` is used
  double checkpoint = 0;        ///< of writing a checkpoint
  double validation_every = 0;  ///< updates between validations; 0: only the last update is followed by one
  double checkpoint_every = 0;  ///< updates between checkpoints; 0: only the last update is followed by one
  double validation_size = 0;   ///< number of updates that take as long as a validation, for an estimate
  double measure_size = 0;      ///< number of updates that take as long as measuring the finished model
};

/// The largest last update with which the run keeps its limit. `update`: number of updates done after `seconds`
/// seconds; a validation and a checkpoint that follow the last of them are not done yet. The last update of the
/// run is followed by a validation, a checkpoint and the writing of the model.
int64_t last_update_within(const RunTimes& times, int64_t update, double seconds);

/// Whether a run that ends with update `last_update` would miss its limit, in either direction, by more than
/// the largest of a twentieth of the time left, a hundredth of the limit, and a second.
bool misses_limit(const RunTimes& times, int64_t update, double seconds, int64_t last_update);

/// Plans the last update of a run from the times that are recorded. It reads no clock itself.
class Pace {
 public:
  /// `times`: the limit and the intervals, and estimates of what has not been measured yet.
  explicit Pace(const RunTimes& times) : times_(times), measured_(times.update > 0 ? window() : 0) {}

  /// The first update of a process is not representative, and is used only until there is another one.
  void record_update(double seconds);
  void record_validation(double seconds) {
    times_.validation = seconds;
    times_.validation_size = 0;
  }
  void record_checkpoint(double seconds) { times_.checkpoint = seconds; }

  /// Returns a new last update if the planned one, `last_update` (0: none yet), misses the limit.
  std::optional<int64_t> replanned(int64_t update, double seconds, int64_t last_update) const;

 private:
  /// The length in seconds of the window over which the time of an update is averaged.
  double window() const { return std::max(times_.limit / 30, 1e-9); }

  RunTimes times_;
  int64_t updates_ = 0;
  double measured_;  ///< seconds of updates, or the window if there was an estimate
};

}  // namespace sixfold
