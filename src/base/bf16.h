#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace sixfold {

/// The bits of the nearest bf16, which are the upper half of a float; ties to even. NaN stays NaN.
inline uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

/// The largest finite bf16.
inline constexpr float largest_bf16 = 0x1.FEp127f;

}  // namespace sixfold
