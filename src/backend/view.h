#pragma once
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"

namespace sixfold {

/// Elements in a backend's memory, which need not be host memory. The host may do arithmetic on `data`, but
/// only kernels may read or write the elements. Does not own them.
template <class T>
struct DeviceSpan {
  T* data = nullptr;
  int64_t size = 0;

  explicit operator bool() const { return data != nullptr; }
  DeviceSpan subspan(int64_t begin, int64_t count) const { return {data + begin, count}; }
  operator DeviceSpan<const T>() const requires(!std::is_const_v<T>) { return {data, size}; }
};

/// Number of columns in a group of a quantized product whose weight has so many bits, 8 or 4: activations have
/// a range for each group, and a weight of 4 bits a scale and an offset. The last group of a row may be
/// shorter.
constexpr int64_t columns_of_group(int bits) { return bits == 8 ? 128 : 32; }

/// A matrix in a backend's memory: row r begins at data + r * stride elements. Only kernels may read or write
/// the elements. Does not own them.
struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  int64_t rows = 0, cols = 0, stride = 0;
  /// For int8 only. [rows]: the values of row r are data * scales[r]. [rows, groups, 2]: a weight of 4 bits.
  /// Its elements are 0 to 15; the values of a group of columns_of_group(4) are data times its first number
  /// plus its second.
  DeviceSpan<const float> scales = {};

  explicit operator bool() const { return data != nullptr; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  template <class T>
  T* row(int64_t r) const {
    return static_cast<T*>(data) + r * stride;
  }
  /// The elements as a span, for matrices without gaps between rows (stride == cols).
  template <class T>
  DeviceSpan<T> span() const {
    return {as<T>(), rows * cols};
  }
  /// Number of bits of an element with scales: 8 or 4.
  int bits() const { return scales.size > rows ? 4 : 8; }
  /// Number of bytes from the beginning of the first element to the end of the last.
  int64_t extent() const {
    return rows == 0 || cols == 0 ? 0 : ((rows - 1) * stride + cols) * static_cast<int64_t>(size_of(dtype));
  }
  /// Columns [begin, begin + count), for matrices without scales.
  View slice_cols(int64_t begin, int64_t count) const {
    return {static_cast<char*>(data) + begin * static_cast<int64_t>(size_of(dtype)), dtype, rows, count,
            stride};
  }
  /// Rows [begin, begin + count).
  View slice_rows(int64_t begin, int64_t count) const {
    return {static_cast<char*>(data) + begin * stride * static_cast<int64_t>(size_of(dtype)),
            dtype,
            count,
            cols,
            stride,
            rows > 0 && scales ? scales.subspan(begin * (scales.size / rows), count * (scales.size / rows))
                               : scales};
  }
};

}  // namespace sixfold
