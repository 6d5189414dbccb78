#include "ops/check.h"
#include "ops/ops.h"
#include "ops/pass_back.h"

namespace sixfold::ops {

Tensor gather_rows(Context& context, const Tensor& x, const Tensor& from, const Tensor& inverse) {
  if (!from) return x;
  check_shape("gather_rows", "inverse", inverse, 1, x.rows());
  Tensor y = context.tensor(from.cols(), x.cols(), x.dtype());
  context.backend().run(kernel::GatherRows{y.view(), x.view(), from.ids()});
  if (context.track(y, {x}))
    context.record("gather_rows", y, {inverse}, [&context, x, y, inverse] {
      const OverwritableGradient grad(context, x);
      context.backend().run(kernel::GatherRows{grad.view(), y.gradient().view(), inverse.ids()});
      grad.accumulate();
    });
  return y;
}

Tensor slice_rows(Context& context, const Tensor& x, int64_t begin, int64_t count) {
  require(begin >= 0 && count >= 0 && begin + count <= x.rows(), "slice_rows: rows {} to {} of {}", begin,
          begin + count, x.rows());
  Tensor y = context.tensor(count, x.cols(), x.dtype());
  context.backend().run(kernel::Scale{y.view(), x.view().slice_rows(begin, count), 1});
  if (context.track(y, {x}))
    context.record("slice_rows", y, {}, [&context, x, y, begin, count] {
      const View to = context.summed_gradient_of(x).slice_rows(begin, count);
      context.backend().run(kernel::Add{to, to, y.gradient().view()});
    });
  return y;
}

Tensor join_rows(Context& context, std::span<const Tensor> parts) {
  require(!parts.empty(), "join_rows: there is no part");
  int64_t rows = 0;
  bool needs_gradient = false;
  for (const Tensor& part : parts) {
    check_shape("join_rows", "part", part, -1, parts.front().cols());
    rows += part.rows();
    needs_gradient = needs_gradient || part.requires_grad();
  }
  Tensor y = context.tensor(rows, parts.front().cols(), parts.front().dtype());
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    context.backend().run(kernel::Scale{y.view().slice_rows(begin, part.rows()), part.view(), 1});
    begin += part.rows();
  }
  y.set_requires_grad(needs_gradient && context.recording());
  context.record("join_rows", y, {}, [&context, y, all = std::vector<Tensor>(parts.begin(), parts.end())] {
    int64_t first = 0;
    for (const Tensor& part : all) {
      pass_back(context, part, y.gradient().view().slice_rows(first, part.rows()));
      first += part.rows();
    }
  });
  return y;
}

}  // namespace sixfold::ops
