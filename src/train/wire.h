#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace sixfold {

/// Rounds fp32 numbers to bf16, to the nearest even.
std::shared_ptr<std::byte[]> rounded_to_bf16(const std::byte* numbers, int64_t count);
/// Expands in place the `count` bf16 numbers at the beginning of a buffer to fp32.
void expand_from_bf16(std::byte* numbers, int64_t count);

}  // namespace sixfold
