#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "op_cases.h"

namespace sixfold {

inline double norm_of(const HostMatrix& matrix) {
  double sum = 0;
  for (const double value : matrix.values) sum += value * value;
  return std::sqrt(sum);
}

/// The distance between two matrices is at most `tolerance` of what is expected, or of `floor` where that is
/// larger.
inline void expect_close(const HostMatrix& actual, const HostMatrix& expected, double tolerance,
                         const std::string& what, double floor = 0) {
  ASSERT_EQ(actual.rows, expected.rows) << what;
  ASSERT_EQ(actual.cols, expected.cols) << what;
  HostMatrix difference = actual;
  for (size_t i = 0; i < expected.values.size(); ++i) difference.values[i] -= expected.values[i];
  EXPECT_LE(norm_of(difference), tolerance * std::max(norm_of(expected), floor)) << what;
}

}  // namespace sixfold
