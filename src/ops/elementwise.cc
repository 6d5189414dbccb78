#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {
namespace {

/// x's gradient += grad, dropped as `dropout` says.
void pass_back(const Pass& pass, const Tensor& x, const Tensor& grad, const Dropout& dropout) {
  const auto slot = pass.gradient_of(x);
  if (!slot.view) return;
  Tensor share = slot.accumulate && dropout ? pass.tensor(x.rows(), x.cols(), x.dtype()) : Tensor();
  const View to = share ? share.view() : slot.view;
  if (dropout)
    pass.backend().dropout(to, grad.view(), dropout);
  else if (!slot.accumulate)
    pass.backend().scale(to, grad.view(), 1);
  if (slot.accumulate) pass.backend().add(slot.view, slot.view, share ? share.view() : grad.view());
}

}  // namespace

Tensor dropout(Pass& pass, const Dropped& dropped) {
  if (!dropped.dropout) return dropped.x;
  const Tensor& x = dropped.x;
  Tensor y = pass.tensor(x.rows(), x.cols(), x.dtype());
  pass.backend().dropout(y.view(), x.view(), dropped.dropout);
  if (pass.track(y, {x}))
    pass.record("dropout", y,
                [&pass, x, y, drop = dropped.dropout] { pass_back(pass, x, y.gradient(), drop); });
  return y;
}

Tensor add(Pass& pass, const Tensor& a, const Tensor& b) {
  check_shape("add", "b", b, a.rows(), a.cols());
  Tensor y = pass.tensor(a.rows(), a.cols(), a.dtype());
  pass.backend().add(y.view(), a.view(), b.view());
  if (pass.track(y, {a, b}))
    pass.record("add", y, [&pass, a, b, y] {
      pass_back(pass, a, y.gradient(), {});
      pass_back(pass, b, y.gradient(), {});
    });
  return y;
}

}  // namespace sixfold::ops
