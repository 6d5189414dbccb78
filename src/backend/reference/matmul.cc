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

/// Values in int8: x is about scale * rounded.
template <class T>
struct Rounded {
  T scale;
  std::vector<int> values;
};

/// Rounds a group of values to int8. 256 values are distributed evenly over the range of the group, which
/// includes zero; or, if `symmetric` is set, 255 values around zero. If the step between two values would not
/// be a normal number, the range is taken to be zero.
template <class T>
Rounded<T> round_group(const T* x, int64_t count, bool symmetric) {
  Rounded<T> rounded{0, std::vector<int>(static_cast<size_t>(count))};
  T low = 0, high = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return {std::numeric_limits<T>::quiet_NaN(), rounded.values};
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  if (symmetric) high = std::max(high, -low), low = -high;
  const T range = high - low, smallest = 256 * std::numeric_limits<T>::min(),
          count_of_steps = symmetric ? 254 : 255;
  if (range < smallest) return rounded;
  const T steps = count_of_steps / range;
  const int lowest = static_cast<int>(std::nearbyint(low * steps));
  for (int64_t i = 0; i < count; ++i)
    rounded.values[static_cast<size_t>(i)] =
        std::min(static_cast<int>(std::nearbyint(x[i] * steps)), lowest + static_cast<int>(count_of_steps));
  rounded.scale = range / count_of_steps;
  return rounded;
}

/// m.result = rows of m.a in int8 times rows of b, of 8 or 4 bits. Sums over a group are exact.
void multiply_int8(const kernel::Matmul& m, const View& b) {
  const int64_t size = columns_of_group(b.bits()), groups = (b.cols + size - 1) / size;
  with_type(m.result.dtype, [&]<class T>(T) {
    for (int64_t row = 0; row < m.result.rows; ++row) {
      std::vector<Rounded<T>> x;
      for (int64_t begin = 0; begin < b.cols; begin += size)
        x.push_back(round_group(m.a.row<T>(row) + begin, std::min(size, b.cols - begin), b.bits() == 4));
      for (int64_t column = 0; column < m.result.cols; ++column) {
        T total = 0;
        for (int64_t g = 0; g < groups; ++g) {
          const Rounded<T>& group = x[static_cast<size_t>(g)];
          int64_t sum = 0, sum_of_x = 0;
          for (size_t i = 0; i < group.values.size(); ++i) {
            sum += group.values[i] * b.row<int8_t>(column)[g * size + static_cast<int64_t>(i)];
            sum_of_x += group.values[i];
          }
          if (b.bits() == 8) {
            total += group.scale * static_cast<T>(sum);
          } else {
            const float* both = b.scales.data + 2 * (column * groups + g);
            total += group.scale * (static_cast<T>(both[0]) * static_cast<T>(sum) +
                                    static_cast<T>(both[1]) * static_cast<T>(sum_of_x));
          }
        }
        const T scale = b.bits() == 8 ? static_cast<T>(b.scales.data[column]) : 1;
        m.result.row<T>(row)[column] = finish(m.epilogue, total * scale, row, column);
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

void compute(const kernel::ListedLogits& k) {
  for (int64_t i = 0; i < k.device_spans.size; ++i) {
    const AttentionSpan& span = k.device_spans.data[i];
    for (int64_t j = 0; j < span.key_count; ++j) {
      const int32_t id = k.ids.data[span.key_begin + j];
      multiply_int8({.result = k.out.slice_rows(span.query_begin, span.query_count).slice_cols(j, 1),
                     .a = k.x.slice_rows(span.query_begin, span.query_count),
                     .epilogue = {.bias = k.bias ? k.bias.slice_cols(id, 1) : View{}}},
                    k.weight.slice_rows(id, 1));
    }
  }
}

}  // namespace sixfold::reference
