#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "train/training_log.h"

namespace sixfold::serve {

/// A curve of any number of points that keeps at most `max_points`: beyond them, neighbours become their mean,
/// again and again.
class ThinCurve {
 public:
  static constexpr size_t max_points = 1024;

  /// `value` may be NaN: the curve has a gap there.
  void add(double update, double value);
  /// Forgets the points from this update on.
  void cut(double update);
  /// Updates and values, of the whole curve.
  const std::vector<double>& updates() const { return updates_; }
  const std::vector<double>& values() const { return values_; }

 private:
  void merge_neighbours();

  std::vector<double> updates_, values_;
  int64_t stride_ = 1;   // number of values of a point
  int64_t pending_ = 0;  // values of the last point so far
};

/// Reads the folder of a run again and again while it grows; another process may be training in it. Safe to
/// share between threads.
class RunWatcher {
 public:
  /// `name` is shown. The folder need not exist yet.
  RunWatcher(std::string name, std::string folder) : name_(std::move(name)), folder_(std::move(folder)) {}

  /// Reads what is new, and returns a JSON object: name, path, task, settings, planned updates, update,
  /// seconds, curves ({name: [updates, values]}), the diagnoses, the newest samples of validation, and
  /// `problem` if the run can't be read.
  std::string look();
  /// Grows when `look` read something new.
  int64_t version();

 private:
  class OpenFile;
  void read_more();
  bool goes_on(const OpenFile& log) const;
  void forget();
  void add_line(const std::string& line);
  void go_back(int64_t update);

  const std::string name_, folder_;
  std::mutex mutex_;  // guards the members below
  int64_t version_ = 0;
  uint64_t inode_ = 0;
  int64_t bytes_ = 0, lines_ = 0;  // of the log, that have been read
  std::string newest_;             // the last bytes of what has been read, by which a log is known
  std::string rest_;               // the last line, as long as it has no end
  std::string problem_;
  std::map<std::string, ThinCurve> curves_;
  std::vector<LogEntry> diagnoses_;
  std::deque<std::pair<int64_t, std::string>> samples_;  // of the newest validations: update, JSON
  int64_t update_ = 0;
  double seconds_ = 0;
};

}  // namespace sixfold::serve
