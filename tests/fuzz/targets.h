#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sixfold {

/// A parser of foreign bytes, to be run on any: it may throw `Error` and must do nothing worse.
struct FuzzTarget {
  std::string_view name;  ///< its corpus lies in corpus/NAME
  void (*run)(std::span<const uint8_t> bytes);
};

std::span<const FuzzTarget> fuzz_targets();

/// Runs the target; an `Error` is a good end.
void run_target(const FuzzTarget& target, std::span<const uint8_t> bytes);

}  // namespace sixfold
