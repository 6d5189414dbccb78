#include "ops/check.h"
#include "ops/ops.h"
#include "ops/pass_back.h"

namespace sixfold::ops {

Tensor dropout(Context& context, const PendingDropout& pending) {
  if (!pending.dropout) return pending.x;
  const Tensor& x = pending.x;
  Tensor y = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::ApplyDropout{y.view(), x.view(), pending.dropout});
  if (context.track(y, {x}))
    context.record("dropout", y, {}, [&context, x, y, dropout = pending.dropout] {
      pass_back(context, x, y.gradient().view(), dropout);
    });
  return y;
}

Tensor scale(Context& context, const Tensor& x, double factor) {
  Tensor y = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::Scale{y.view(), x.view(), factor});
  if (context.track(y, {x}))
    context.record("scale", y, {}, [&context, x, y, factor] {
      const OverwritableGradient grad(context, x);
      context.backend().run(kernel::Scale{grad.view(), y.gradient().view(), factor});
      grad.accumulate();
    });
  return y;
}

Tensor add(Context& context, const Tensor& a, const Tensor& b) {
  check_shape("add", "b", b, a.rows(), a.cols());
  Tensor y = context.tensor(a.rows(), a.cols(), a.dtype());
  context.backend().run(kernel::Add{y.view(), a.view(), b.view()});
  if (context.track(y, {a, b}))
    context.record("add", y, {}, [&context, a, b, y] {
      pass_back(context, a, y.gradient().view());
      pass_back(context, b, y.gradient().view());
    });
  return y;
}

Tensor activate(Context& context, const Tensor& x, Activation activation) {
  Tensor y = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::Activate{y.view(), x.view(), activation});
  if (context.track(y, {x}))
    context.record("activate", y, {x}, [&context, x, y, activation] {
      const OverwritableGradient grad(context, x);
      context.backend().run(kernel::ActivateGradient{grad.view(), y.gradient().view(), x.view(), activation});
      grad.accumulate();
    });
  return y;
}

Tensor concatenate(Context& context, const Tensor& a, const Tensor& b) {
  check_shape("concatenate", "b", b, a.rows(), -1);
  Tensor y = context.tensor(a.rows(), a.cols() + b.cols(), a.dtype());
  context.backend().run(kernel::Scale{y.view().slice_cols(0, a.cols()), a.view(), 1});
  context.backend().run(kernel::Scale{y.view().slice_cols(a.cols(), b.cols()), b.view(), 1});
  if (context.track(y, {a, b}))
    context.record("concatenate", y, {}, [&context, a, b, y] {
      const View grad = y.gradient().view();
      pass_back(context, a, grad.slice_cols(0, a.cols()));
      pass_back(context, b, grad.slice_cols(a.cols(), b.cols()));
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
    context.record("rotate", y, {angles}, [&context, x, y, angles, position = rows.position] {
      const OverwritableGradient grad(context, x);
      context.backend().run(
          kernel::Rotate{grad.view(), y.gradient().view(), angles.view(), position.ids(), /*inverse=*/true});
      grad.accumulate();
    });
  return y;
}

Tensor position_feature(Context& context, const Tensor& x, const TokenRows& rows, const Tensor& lengths) {
  check_shape("position_feature", "positions", rows.position, 1, x.rows());
  if (lengths) check_shape("position_feature", "lengths", lengths, 1, x.rows());
  Tensor y = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().run(kernel::PositionFeature{y.view(), x.view(), rows.position.ids(), lengths.ids()});
  if (context.track(y, {x}))
    context.record("position_feature", y, {}, [&context, x, y] {
      const OverwritableGradient grad(context, x);
      context.backend().run(kernel::PositionFeature{grad.view(), y.gradient().view(), {}, {}});
      grad.accumulate();
    });
  return y;
}

}  // namespace sixfold::ops
