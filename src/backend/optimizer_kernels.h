#pragma once
#include "backend/view.h"

// The kernels of the optimizer, and sums over all elements. See kernels.h.

namespace sixfold::kernel {

/// One step of Adam (section 5.3) over flat arrays, with decoupled weight decay and a moving average of the
/// weights.
struct Adam {
  static constexpr const char* name = "adam";
  View weight, gradient, moment1, moment2;
  View average;  ///< may be empty; average += (1 - average_decay) * (weight - average)
  double learning_rate, beta1, beta2, epsilon, weight_decay, average_decay;
  double gradient_scale = 1;  ///< factor of the gradient, for clipping
  int64_t step = 1;           ///< counted from 1; for the bias correction

  void operands(auto&& visit) {
    visit("weight", weight), visit("gradient", gradient), visit("moment1", moment1);
    visit("moment2", moment2), visit("average", average);
  }
};

/// out [1, 1] f64 = sum of the elements of x in fp64, in order.
struct Sum {
  static constexpr const char* name = "sum";
  View out, x;
  bool accumulate = false;  ///< add to the contents of `out`

  void operands(auto&& visit) { visit("out", out), visit("x", x); }
};

/// sums[i] = sum of the squares of block i of x, in fp64; x has no gaps between rows. Blocks have a fixed size,
/// so that the total of their sums, added in order, depends only on the elements.
struct BlockSquares {
  static constexpr const char* name = "block_squares";
  static constexpr int64_t block = int64_t{1} << 14;  ///< elements
  static int64_t blocks(int64_t elements) { return (elements + block - 1) / block; }
  View x;
  DeviceSpan<double> sums;  ///< [blocks(rows * cols)]

  void operands(auto&& visit) { visit("x", x), visit("sums", sums); }
};

}  // namespace sixfold::kernel
