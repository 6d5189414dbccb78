#include "search/hypothesis.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {

const char* name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::end_token:
      return "end";
    case FinishReason::stop_string:
      return "stop";
    case FinishReason::forced_end:
    case FinishReason::cut:
      return "length";
  }
  throw_unknown("reason to finish", reason);
}

bool ends_in_a_loop(const std::vector<int32_t>& ids) {
  constexpr int max_period = 8, min_repetitions = 4;
  for (int period = 1; period <= max_period; ++period) {
    const int span = period * min_repetitions;
    if (std::ssize(ids) < span) return false;
    if (std::equal(ids.end() - span + period, ids.end(), ids.end() - span)) return true;
  }
  return false;
}

}  // namespace sixfold
