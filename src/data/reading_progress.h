#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "base/log.h"

namespace sixfold {

/// Logs the progress of reading pairs, every ten seconds: "encoding the text: 12 %, 30000 pairs/s, 40 s left".
/// The first call starts its clock.
class ReadingProgress {
 public:
  /// `what` is done to the text: "encoding the text".
  explicit ReadingProgress(std::string what) : what_(std::move(what)) {}

  /// To be called for each pair. `part_read` returns the share that was read, from 0 to 1.
  template <class PartRead>
  void tell(const PartRead& part_read) {
    if (pairs_++ == 0) begun_ = told_ = std::chrono::steady_clock::now();
    if (pairs_ % 1024 != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(now - told_).count() < 10) return;
    told_ = now;
    const double part = part_read(), since = std::chrono::duration<double>(now - begun_).count();
    log_info("{}: {:.0f} %, {:.0f} pairs/s, {:.0f} s left", what_, 100 * part,
             static_cast<double>(pairs_) / since, part > 0 ? since * (1 - part) / part : 0);
  }

 private:
  std::string what_;
  std::chrono::steady_clock::time_point begun_, told_;
  int64_t pairs_ = 0;
};

}  // namespace sixfold
