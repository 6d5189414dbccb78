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

/// One step of stochastic gradient descent over flat arrays, with momentum and weight decay as in PyTorch and a
/// moving average of the weights: g = gradient + weight_decay * weight; velocity = momentum * velocity + g;
/// weight -= learning_rate * (velocity, or with nesterov g + momentum * velocity).
struct Sgd {
  static constexpr const char* name = "sgd";
  View weight, gradient;
  View velocity;  ///< may be empty: there is no momentum
  View average;   ///< as in Adam
  double learning_rate, momentum, weight_decay, average_decay;
  bool nesterov = false;
  double gradient_scale = 1;  ///< factor of the gradient, for clipping

  void operands(auto&& visit) {
    visit("weight", weight), visit("gradient", gradient), visit("velocity", velocity);
    visit("average", average);
  }
};

/// One step of Adafactor (Shazeer and Stern, 2018) of a whole weight [m, n], as in fairseq, with a moving
/// average of the weights. No operand has gaps between rows.
/// - s = gradient^2 + 1e-30
/// - rows = beta2 * rows + (1 - beta2) * (mean of each row of s), columns likewise
/// - V = rows * columns / mean(rows); or, where `squares` are given:
/// - V = squares = beta2 * squares + (1 - beta2) * s
/// - u = gradient / sqrt(V), divided by its root mean square over clip_threshold if that is above 1
/// - rate = learning_rate, with scale_parameter times the root mean square of the weight, at least 1e-3
/// - moment1 = beta1 * moment1 + (1 - beta1) * rate * u; without a moment1 this is rate * u
/// - weight = weight - rate * weight_decay * weight - moment1
struct Adafactor {
  static constexpr const char* name = "adafactor";
  static constexpr double epsilon = 1e-30, smallest_scale = 1e-3;
  View weight, gradient;
  View rows, columns;  ///< [1, m] and [1, n]; empty if `squares` are given
  View squares;        ///< m * n elements
  View moment1;        ///< m * n elements; may be empty
  View average;        ///< as in Adam
  double learning_rate, beta1, beta2, clip_threshold, weight_decay, average_decay;
  bool scale_parameter = false;
  double gradient_scale = 1;  ///< factor of the gradient, for clipping

  void operands(auto&& visit) {
    visit("weight", weight), visit("gradient", gradient), visit("rows", rows), visit("columns", columns);
    visit("squares", squares), visit("moment1", moment1), visit("average", average);
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
