#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"

// The types of elements of GGUF. Quantized ones are stored in blocks of elements that share scales. Their
// layout is defined in ggml's ggml-common.h and ggml-quants.c.

namespace sixfold {

struct GgufType {
  uint32_t number = 0;
  std::string_view name;
  uint64_t elements = 1;            ///< of a block
  uint64_t bytes = 0;               ///< of a block
  std::optional<DType> plain = {};  ///< the type, if elements are stored without blocks
  void (*decode)(const std::byte* block, float* values) = nullptr;  ///< null: not supported
};

/// The type with this number, or null if it is not known.
const GgufType* find_gguf_type(uint32_t number);

/// The values of whole blocks of a type that has `decode`.
std::vector<float> decode_blocks(const GgufType& type, std::span<const std::byte> blocks);

}  // namespace sixfold
