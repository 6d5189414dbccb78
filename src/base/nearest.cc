#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "base/join.h"

namespace sixfold {

int edit_distance(std::string_view a, std::string_view b) {
  // Rows i - 2, i - 1 and i of the table of distances between the prefixes of a and of b.
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

namespace {

/// The distance without regard to case ("LSTM" means lstm). Letters missing at the end of a name count little,
/// since people abbreviate.
int distance_to(std::string candidate, std::string name) {
  constexpr size_t min_prefix = 4;
  candidate = ascii_lower(candidate), name = ascii_lower(name);
  if (name.size() >= min_prefix && candidate.starts_with(name)) return 1;
  return edit_distance(name, candidate);
}

}  // namespace

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t max_length =
      100;  // longer names are not typing errors, and the cost is the product of the lengths
  if (name.size() > max_length) return std::nullopt;
  std::optional<std::string> best;
  int best_distance = 0;
  for (const std::string& candidate : candidates) {
    const int distance = distance_to(candidate, std::string(name));
    const int allowed = std::max(1, static_cast<int>(std::max(name.size(), candidate.size())) / 3);
    if (distance <= allowed && (!best || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string> candidates) {
  if (const auto best = nearest(name, candidates)) return fmt::format(" (did you mean '{}'?)", *best);
  return fmt::format(" (known: {})", join(candidates));
}

}  // namespace sixfold
