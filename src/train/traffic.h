#pragma once
#include <chrono>
#include <string>

#include "train/distributed/processes.h"

namespace sixfold {

/// Measures how much a process of a training run sends, and how long it waits for others, since the
/// construction of this object.
class Traffic {
 public:
  /// `update`: number of updates done.
  Traffic(const Processes& processes, int64_t update);
  /// A human-readable summary of the updates since then, up to `update`; empty if there are none, or if there
  /// is only one process.
  std::string summary(int64_t update) const;

 private:
  const Processes& processes_;
  const int64_t update_, bytes_;
  const double waited_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace sixfold
