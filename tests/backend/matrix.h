#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "backend/view.h"
#include "base/random.h"

namespace sixfold {

/// Elements as operands of a backend whose memory is the host's.
template <class T>
DeviceSpan<const T> operand(const std::vector<T>& elements) {
  return {elements.data(), std::ssize(elements)};
}

/// A matrix on the host for tests of kernels. Rows lie `gap` elements apart, and what is in the gaps is a value
/// that no kernel may read or write.
template <class T>
class Matrix {
 public:
  static constexpr T untouched = T(-777);

  Matrix(int64_t rows, int64_t cols, int64_t gap = 2)
      : rows_(rows), cols_(cols), stride_(cols + gap), elements_(rows * stride_, untouched) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c) at(r, c) = 0;
  }
  Matrix(std::initializer_list<std::initializer_list<T>> rows)
      : Matrix(static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows.begin()->size())) {
    int64_t r = 0;
    for (const auto& row : rows) std::copy(row.begin(), row.end(), view().template row<T>(r++));
  }
  /// Standard normal numbers that depend on the seed and the shape alone.
  static Matrix normal(int64_t rows, int64_t cols, uint64_t seed) {
    Matrix matrix(rows, cols);
    RandomStream random(seed, 0);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c) matrix.at(r, c) = static_cast<T>(random.normal());
    return matrix;
  }

  View view() {
    return {elements_.data(), std::is_same_v<T, float> ? DType::f32 : DType::f64, rows_, cols_, stride_};
  }
  T& at(int64_t r, int64_t c) { return elements_[r * stride_ + c]; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  bool gaps_untouched() {
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t c = cols_; c < stride_; ++c)
        if (at(r, c) != untouched) return false;
    return true;
  }
  bool operator==(const Matrix&) const = default;

 private:
  int64_t rows_, cols_, stride_;
  std::vector<T> elements_;
};

/// Each element within `tolerance` of what is expected, and no write between the rows.
template <class T>
void expect_close(Matrix<T>& actual, Matrix<T> expected, double tolerance) {
  ASSERT_EQ(actual.rows(), expected.rows());
  ASSERT_EQ(actual.cols(), expected.cols());
  for (int64_t r = 0; r < actual.rows(); ++r)
    for (int64_t c = 0; c < actual.cols(); ++c)
      EXPECT_NEAR(actual.at(r, c), expected.at(r, c), tolerance) << "row " << r << ", column " << c;
  EXPECT_TRUE(actual.gaps_untouched());
}

/// The gradient of `function` with respect to every element of `x`, by central differences.
inline Matrix<double> numeric_gradient(Matrix<double>& x, const std::function<double()>& function) {
  constexpr double step = 1e-5;
  Matrix<double> gradient(x.rows(), x.cols());
  for (int64_t r = 0; r < x.rows(); ++r)
    for (int64_t c = 0; c < x.cols(); ++c) {
      const double kept = x.at(r, c);
      x.at(r, c) = kept + step;
      const double above = function();
      x.at(r, c) = kept - step;
      const double below = function();
      x.at(r, c) = kept;
      gradient.at(r, c) = (above - below) / (2 * step);
    }
  return gradient;
}

/// The sum of the products of elements: a loss whose gradient with respect to `x` is `weights`.
inline double inner_product(Matrix<double>& x, Matrix<double>& weights) {
  double sum = 0;
  for (int64_t r = 0; r < x.rows(); ++r)
    for (int64_t c = 0; c < x.cols(); ++c) sum += x.at(r, c) * weights.at(r, c);
  return sum;
}

}  // namespace sixfold
