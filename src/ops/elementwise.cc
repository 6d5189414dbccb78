#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

/// gradient of x += grad with dropout applied.
void pass_back(const Context& context, const Tensor& x, const Tensor& grad, const Dropout& dropout) {
  if (!x.requires_grad()) return;
  Backend& backend = context.backend();
  if (!dropout && x.gradient())
    return backend.run(kernel::Add{x.gradient().view(), x.gradient().view(), grad.view()});
  const WrittenGradient share(context, x);
  if (dropout)
    backend.run(kernel::ApplyDropout{share.view(), grad.view(), dropout});
  else
    backend.run(kernel::Scale{share.view(), grad.view(), 1});
  share.add();
}

}  // namespace

Tensor dropout(Context& context, const Dropped& dropped) {
  if (!dropped.dropout) return dropped.x;
  const Tensor& x = dropped.x;
  Tensor y = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::ApplyDropout{y.view(), x.view(), dropped.dropout});
  if (context.track(y, {x}))
    context.record("dropout", y,
                   [&context, x, y, drop = dropped.dropout] { pass_back(context, x, y.gradient(), drop); });
  return y;
}

Tensor add(Context& context, const Tensor& a, const Tensor& b) {
  check_shape("add", "b", b, a.rows(), a.cols());
  Tensor y = context.tensor(a.rows(), a.cols(), a.dtype());
  context.backend().run(kernel::Add{y.view(), a.view(), b.view()});
  if (context.track(y, {a, b}))
    context.record("add", y, [&context, a, b, y] {
      pass_back(context, a, y.gradient(), {});
      pass_back(context, b, y.gradient(), {});
    });
  return y;
}

Tensor rotate(Context& context, const Tensor& x, const Tensor& angles, const TokenRows& rows) {
  check_shape("rotate", "angles", angles, -1, -1);
  require(angles.cols() % 2 == 0 && x.cols() % angles.cols() == 0 && angles.rows() >= rows.longest,
          "rotate: angles of {} positions and {} features for {} positions and {} columns", angles.rows(),
          angles.cols(), rows.longest, x.cols());
  Tensor y = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::Rotate{y.view(), x.view(), angles.view(), rows.position.ids()});
  if (context.track(y, {x}))
    context.record("rotate", y, [&context, x, y, angles, position = rows.position] {
      const WrittenGradient grad(context, x);
      context.backend().run(
          kernel::Rotate{grad.view(), y.gradient().view(), angles.view(), position.ids(), /*inverse=*/true});
      grad.add();
    });
  return y;
}

}  // namespace sixfold::ops
