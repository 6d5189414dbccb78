#include "train/traffic.h"

#include <fmt/format.h>

namespace sixfold {

Traffic::Traffic(const Processes& processes, int64_t update)
    : processes_(processes),
      update_(update),
      bytes_(processes.bytes_sent()),
      waited_(processes.seconds_waited()) {}

std::string Traffic::summary(int64_t update) const {
  if (processes_.size() == 1 || update <= update_) return "";
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  return fmt::format(
      "this process sent {:.2f} MB in an update, and waited for others for {:.1f}% of the time",
      static_cast<double>(processes_.bytes_sent() - bytes_) / 1e6 / static_cast<double>(update - update_),
      100 * (processes_.seconds_waited() - waited_) / seconds.count());
}

}  // namespace sixfold
