#pragma once
#include "base/error.h"
#include "ops/tensor.h"

namespace sixfold::ops {

/// Throws an input error unless `t` is [rows, cols]; -1 stands for any number. `op` and `what` name the op and
/// the operand in the message.
inline void check_shape(const char* op, const char* what, const Tensor& t, int64_t rows, int64_t cols) {
  require(t && (rows < 0 || t.rows() == rows) && (cols < 0 || t.cols() == cols),
          "{}: {} is {} x {}, expected {} x {}", op, what, t ? t.rows() : 0, t ? t.cols() : 0, rows, cols);
}

}  // namespace sixfold::ops
