#include "train/wire.h"

#include <bit>
#include <cstring>

namespace sixfold {
namespace {

uint16_t rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);  // NaN stays NaN
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

std::shared_ptr<std::byte[]> rounded_to_bf16(const std::byte* numbers, int64_t count) {
  std::shared_ptr<std::byte[]> result(new std::byte[2 * static_cast<size_t>(count)]);
  for (int64_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, numbers + 4 * i, sizeof value);
    const uint16_t short_value = rounded(value);
    std::memcpy(result.get() + 2 * i, &short_value, sizeof short_value);
  }
  return result;
}

void expand_from_bf16(std::byte* numbers, int64_t count) {
  for (int64_t i = count - 1; i >= 0; --i) {
    uint16_t short_value;
    std::memcpy(&short_value, numbers + 2 * i, sizeof short_value);
    const uint32_t bits = uint32_t{short_value} << 16;
    std::memcpy(numbers + 4 * i, &bits, sizeof bits);
  }
}

}  // namespace sixfold
