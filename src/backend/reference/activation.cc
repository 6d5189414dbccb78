#include <cmath>

#include "backend/reference/reference_backend.h"

namespace sixfold {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// A function and its derivative at one place.
struct Tangent {
  double value, slope;
};

/// x sigmoid(beta x)
Tangent sigmoid_unit(double x, double beta) {
  const double s = sigmoid(beta * x);
  return {x * s, s + beta * x * s * (1 - s)};
}

Tangent activation_at(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return {std::fmax(x, 0), x > 0 ? 1.0 : 0.0};
    case Activation::swish:
      return sigmoid_unit(x, 1);
    case Activation::sigmoid_gelu:
      return sigmoid_unit(x, 1.702);
    case Activation::gelu: {
      const double distribution = 0.5 * std::erfc(-x * M_SQRT1_2);
      const double density = std::exp(-x * x / 2) * M_SQRT1_2 * M_2_SQRTPI / 2;
      return {x * distribution, distribution + x * density};
    }
  }
  return {};
}

}  // namespace

void ReferenceBackend::activate(View out, View x, Activation activation) {
  with_type(out.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < out.rows; ++r)
      for (int64_t c = 0; c < out.cols; ++c)
        out.row<T>(r)[c] = static_cast<T>(activation_at(activation, x.row<T>(r)[c]).value);
  });
}

void ReferenceBackend::activate_gradient(View grad_x, View grad_out, View x, Activation activation) {
  with_type(x.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t c = 0; c < x.cols; ++c)
        grad_x.row<T>(r)[c] =
            static_cast<T>(grad_out.row<T>(r)[c] * activation_at(activation, x.row<T>(r)[c]).slope);
  });
}

}  // namespace sixfold
