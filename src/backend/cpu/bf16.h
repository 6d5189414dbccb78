#pragma once
#include "backend/cpu/cpu_backend.h"

namespace sixfold {

/// A weight rounded to bf16, row-major, without gaps between rows.
struct Bf16Weight final : PackedWeight {
  Bf16Weight() : PackedWeight(DType::bf16) {}
  static size_t bytes(View b);
  Scratch own;
  uint16_t* data = nullptr;
};

/// Rows [row, row + rows) and columns [col, col + cols) of a product.
struct Bf16Block {
  int64_t row, rows, col, cols;
};

}  // namespace sixfold
