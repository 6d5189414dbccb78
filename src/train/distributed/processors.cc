#include "train/distributed/processors.h"

#include <algorithm>

#include "base/threads.h"

namespace sixfold {

int available_threads(Processes& processes) {
  const int available = available_threads();
  if (processes.size() == 1) return available;
  const auto rank = static_cast<size_t>(processes.rank());
  const auto all = processes.all_gather(processes.hosts()[rank] + "\n" + allowed_processors());
  return std::max(1, available / static_cast<int>(std::ranges::count(all, all[rank])));
}

}  // namespace sixfold
