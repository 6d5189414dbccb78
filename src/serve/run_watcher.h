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

/// A curve that keeps at most `max_points` points: whenever there would be more, each two neighbours are
/// replaced by their mean.
class DownsampledCurve {
 public:
  static constexpr size_t max_points = 1024;

  /// `value` may be NaN: the curve has a gap there.
  void add(double update, double value);
  /// Removes the points from this update on.
  void truncate(double update);
  /// The updates and values of all points.
  const std::vector<double>& updates() const { return updates_; }
  const std::vector<double>& values() const { return values_; }

 private:
  void merge_neighbours();

  std::vector<double> updates_, values_;
  int64_t stride_ = 1;   // number of values that become one point
  int64_t pending_ = 0;  // number of values in the last point so far; 0: it is complete
};

/// Follows a run: reads what another process, which is still training, adds to the run's folder. Safe to share
/// between threads.
class RunWatcher {
 public:
  /// `name` is the displayed name. The folder need not exist yet.
  RunWatcher(std::string name, std::string folder) : name_(std::move(name)), folder_(std::move(folder)) {}

  /// Reads what is new, and returns a JSON object with the name, path, task, settings, update, seconds, curves
  /// ({name: [updates, values]}), diagnoses and newest validation samples of the run, and `problem` if the run
  /// can't be read.
  std::string read_json();
  /// Reads what is new, and returns a number that has grown if there was anything.
  int64_t version();

 private:
  class OpenFile;
  void read_more();
  bool is_same_log(const OpenFile& log) const;
  void reset();
  void add_line(const std::string& line);
  void roll_back(int64_t update);

  const std::string name_, folder_;
  std::mutex mutex_;  // guards the members below
  int64_t version_ = 0;
  uint64_t inode_ = 0;
  int64_t bytes_ = 0, lines_ = 0;  // of the log that have been read
  std::string tail_;               // the last bytes that have been read, to detect that the log was replaced
  std::string incomplete_line_;    // the last line, while its end has not been written
  std::string problem_;
  std::map<std::string, DownsampledCurve> curves_;
  std::vector<LogEntry> diagnoses_;
  std::deque<std::pair<int64_t, std::string>> samples_;  // of the newest validations: update and JSON
  int64_t update_ = 0;
  double seconds_ = 0;
};

}  // namespace sixfold::serve
