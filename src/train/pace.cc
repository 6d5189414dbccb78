#include "train/pace.h"

#include <algorithm>
#include <cmath>

namespace sixfold {
namespace {

double of_validation(const RunTimes& t) { return t.validation + t.validation_size * t.update; }

/// The number of times that something is done in the updates from `update` to `last_update`, if it is done
/// after each multiple of `every`, and after the last update in any case.
double count(double every, int64_t update, int64_t last_update) {
  if (every <= 0) return 1;
  const auto last = static_cast<double>(last_update);
  const double due = std::floor(last / every) - std::floor(static_cast<double>(update - 1) / every);
  return due + (std::fmod(last, every) == 0 ? 0 : 1);
}

/// The time of the end of the run, in seconds since its start.
double end_of(const RunTimes& t, int64_t update, double seconds, int64_t last_update) {
  const double model = t.measure_size * t.update + t.checkpoint;
  return seconds + static_cast<double>(last_update - update) * t.update +
         count(t.validation_every, update, last_update) * of_validation(t) +
         count(t.checkpoint_every, update, last_update) * t.checkpoint + model;
}

}  // namespace

int64_t last_update_within(const RunTimes& times, int64_t update, double seconds) {
  const double max_updates = std::max(0.0, times.limit - seconds) / std::max(times.update, 1e-9);
  int64_t fitting = update, beyond = update + static_cast<int64_t>(std::min(max_updates, 1e12)) + 1;
  while (beyond - fitting > 1) {
    const int64_t middle = fitting + (beyond - fitting) / 2;
    (end_of(times, update, seconds, middle) <= times.limit ? fitting : beyond) = middle;
  }
  return fitting;
}

bool misses_limit(const RunTimes& times, int64_t update, double seconds, int64_t last_update) {
  const double left = std::max(0.0, times.limit - seconds);
  return std::abs(end_of(times, update, seconds, last_update) - times.limit) >
         std::max({0.05 * left, 0.01 * times.limit, 1.0});
}

void Pace::record_update(double seconds) {
  if (++updates_ == 1) {
    if (times_.update <= 0) times_.update = seconds;
    return;
  }
  if (measured_ == 0) times_.update = seconds;
  // The mean over about a thirtieth of the run, and over all updates before that time has passed.
  measured_ += seconds;
  const double weight = std::max(1 - std::exp(-seconds / window()), seconds / std::max(measured_, 1e-9));
  const double rate = 1 / std::max(times_.update, 1e-9), now = 1 / std::max(seconds, 1e-9);
  times_.update = 1 / (rate + weight * (now - rate));
}

std::optional<int64_t> Pace::replanned(int64_t update, double seconds, int64_t last_update) const {
  if (times_.limit <= 0 || (updates_ < 2 && seconds < 0.03 * times_.limit)) return std::nullopt;
  if (last_update > 0 && !misses_limit(times_, update, seconds, last_update)) return std::nullopt;
  const int64_t last = last_update_within(times_, update, seconds);
  return last == last_update ? std::nullopt : std::optional(last);
}

}  // namespace sixfold
