#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

/// x's gradient += grad, dropped as `dropout` says.
void pass_back(const Context& context, const Tensor& x, const Tensor& grad, const Dropout& dropout) {
  const auto slot = context.gradient_of(x);
  if (!slot.view) return;
  Tensor share = slot.accumulate && dropout ? context.tensor(x.rows(), x.cols(), x.dtype()) : Tensor();
  const View to = share ? share.view() : slot.view;
  if (dropout)
    context.backend().dropout(to, grad.view(), dropout);
  else if (!slot.accumulate)
    context.backend().scale(to, grad.view(), 1);
  if (slot.accumulate) context.backend().add(slot.view, slot.view, share ? share.view() : grad.view());
}

}  // namespace

Tensor dropout(Context& context, const Dropped& dropped) {
  if (!dropped.dropout) return dropped.x;
  const Tensor& x = dropped.x;
  Tensor y = context.tensor(x.rows(), x.cols(), x.dtype());
  context.backend().dropout(y.view(), x.view(), dropped.dropout);
  if (context.track(y, {x}))
    context.record("dropout", y,
                   [&context, x, y, drop = dropped.dropout] { pass_back(context, x, y.gradient(), drop); });
  return y;
}

Tensor add(Context& context, const Tensor& a, const Tensor& b) {
  check_shape("add", "b", b, a.rows(), a.cols());
  Tensor y = context.tensor(a.rows(), a.cols(), a.dtype());
  context.backend().add(y.view(), a.view(), b.view());
  if (context.track(y, {a, b}))
    context.record("add", y, [&context, a, b, y] {
      pass_back(context, a, y.gradient(), {});
      pass_back(context, b, y.gradient(), {});
    });
  return y;
}

}  // namespace sixfold::ops
