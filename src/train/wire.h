#pragma once
#include <cstddef>
#include <cstdint>

namespace sixfold {

/// Rounds fp32 numbers to bf16, to the nearest even, and moves them together to the beginning of the buffer.
void round_to_bf16(std::byte* numbers, int64_t count);
/// The inverse: bf16 numbers at the beginning of a buffer become fp32 numbers.
void expand_from_bf16(std::byte* numbers, int64_t count);

}  // namespace sixfold
