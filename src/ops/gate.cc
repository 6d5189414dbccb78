#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

View first_half(const Tensor& x) { return x.view().slice_cols(0, x.cols() / 2); }
View second_half(const Tensor& x) { return x.view().slice_cols(x.cols() / 2, x.cols() / 2); }

}  // namespace

Tensor glu(Context& context, const Tensor& x) {
  require(x.cols() % 2 == 0, "glu: {} columns cannot be split into values and gates", x.cols());
  Tensor y = context.tensor(x.rows(), x.cols() / 2, x.dtype());
  context.backend().run(kernel::Gate{y.view(), first_half(x), second_half(x)});
  if (context.track(y, {x}))
    context.record("glu", y, {x}, [&context, x, y] {
      const OverwritableGradient grad(context, x);
      const View values = grad.view().slice_cols(0, y.cols()),
                 gates = grad.view().slice_cols(y.cols(), y.cols());
      context.backend().run(
          kernel::GateGradient{values, gates, y.gradient().view(), first_half(x), second_half(x)});
      grad.accumulate();
    });
  return y;
}

Tensor gated_sum(Context& context, const Tensor& gates, const Tensor& a, const Tensor& b) {
  check_shape("gated_sum", "b", b, a.rows(), a.cols());
  check_shape("gated_sum", "gates", gates, a.rows(), 2 * a.cols());
  Tensor y = context.tensor(a.rows(), a.cols(), a.dtype());
  context.backend().run(kernel::Gate{y.view(), a.view(), first_half(gates)});
  context.backend().run(kernel::Gate{y.view(), b.view(), second_half(gates), /*accumulate=*/true});
  if (context.track(y, {gates, a, b}))
    context.record("gated_sum", y, {gates, a, b}, [&context, gates, a, b, y] {
      const OverwritableGradient grad_gates(context, gates);
      const int64_t d = y.cols();
      for (const auto& [x, begin] : {std::pair(a, int64_t{0}), std::pair(b, d)}) {
        const OverwritableGradient grad(context, x);
        context.backend().run(kernel::GateGradient{grad.view(), grad_gates.view().slice_cols(begin, d),
                                                   y.gradient().view(), x.view(),
                                                   gates.view().slice_cols(begin, d)});
        grad.accumulate();
      }
      grad_gates.accumulate();
    });
  return y;
}

}  // namespace sixfold::ops
