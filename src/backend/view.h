#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace sixfold {

/// A matrix in a backend's memory: row r begins at data + r * stride elements. Owns nothing.
struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  int64_t rows = 0, cols = 0, stride = 0;
  const float* scales = nullptr;  ///< [rows], of int8 elements: row r counts data * scales[r]

  explicit operator bool() const { return data != nullptr; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  template <class T>
  T* row(int64_t r) const {
    return static_cast<T*>(data) + r * stride;
  }
  /// Rows [begin, begin + count).
  View slice_rows(int64_t begin, int64_t count) const {
    return {static_cast<char*>(data) + begin * stride * static_cast<int64_t>(size_of(dtype)),
            dtype,
            count,
            cols,
            stride,
            scales ? scales + begin : nullptr};
  }
};

}  // namespace sixfold
