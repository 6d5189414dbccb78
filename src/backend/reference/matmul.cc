#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/reference/kernels.h"
#include "backend/reference/reference_backend.h"

namespace sixfold::reference {
namespace {

template <class T>
T element(View x, bool transposed, int64_t row, int64_t column) {
  return transposed ? x.row<T>(column)[row] : x.row<T>(row)[column];
}

template <class T>
T finish(const Epilogue& epilogue, T sum, int64_t row, int64_t column) {
  if (epilogue.bias) sum += epilogue.bias.as<T>()[column];
  if (epilogue.relu) sum = std::max(sum, T{0});
  if (epilogue.relu_of && !(epilogue.relu_of.row<T>(row)[column] > 0)) sum = 0;
  return sum;
}

/// Quantizes a row to int8: writes its elements, divided by the scale and rounded, to `rounded` and returns the
/// scale. 256 values are distributed evenly over the range of the row, which includes zero. If the step between
/// two values would not be a normal number, the range is taken to be zero.
template <class T>
T round_row(const T* x, int64_t k, std::vector<int>& rounded) {
  T low = 0, high = 0;
  for (int64_t i = 0; i < k; ++i) {
    if (!std::isfinite(x[i])) return x[i] - x[i];
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  const T range = high - low, smallest = 256 * std::numeric_limits<T>::min();
  const T steps = range >= smallest ? 255 / range : 0;
  const int lowest = static_cast<int>(std::nearbyint(low * steps));
  for (int64_t i = 0; i < k; ++i)
    rounded[static_cast<size_t>(i)] = std::min(static_cast<int>(std::nearbyint(x[i] * steps)), lowest + 255);
  return range / 255;
}

/// m.result = rows of m.a in int8 times rows of b. Sums are exact; only the scaling rounds.
void multiply_int8(const kernel::Matmul& m, const View& b) {
  with_type(m.result.dtype, [&]<class T>(T) {
    std::vector<int> x(static_cast<size_t>(b.cols));
    for (int64_t row = 0; row < m.result.rows; ++row) {
      const T scale = round_row(m.a.row<T>(row), b.cols, x);
      for (int64_t column = 0; column < m.result.cols; ++column) {
        int64_t sum = 0;
        for (int64_t k = 0; k < b.cols; ++k) sum += x[static_cast<size_t>(k)] * b.row<int8_t>(column)[k];
        m.result.row<T>(row)[column] = finish(
            m.epilogue, static_cast<T>(sum) * (scale * static_cast<T>(b.scales.data[column])), row, column);
      }
    }
  });
}

}  // namespace

void compute(const kernel::Matmul& m) {
  const View b = m.packed_b ? static_cast<const ReferenceWeight*>(m.packed_b)->view : m.b;
  if (b.dtype == DType::i8) return multiply_int8(m, b);
  const int64_t depth = m.transpose_a ? m.a.rows : m.a.cols;
  with_type(m.result.dtype, [&]<class T>(T) {
    for (int64_t row = 0; row < m.result.rows; ++row)
      for (int64_t column = 0; column < m.result.cols; ++column) {
        T& result = m.result.row<T>(row)[column];
        T sum = m.accumulate ? result : T{0};
        for (int64_t k = 0; k < depth; ++k)
          sum += element<T>(m.a, m.transpose_a, row, k) * element<T>(b, m.transpose_b, k, column);
        result = finish(m.epilogue, sum, row, column);
      }
  });
}

}  // namespace sixfold::reference
