#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {

Tensor embed(Context& context, const Embedding& e, const Tensor& ids, const TokenRows& rows,
             const Dropout& dropout) {
  check_shape("embed", "ids", ids, 1, rows.ragged.tokens());
  if (e.positions) {
    check_shape("embed", "positions", e.positions, -1, e.table.cols());
    require(rows.longest <= e.positions.rows(), "embed: position {} is beyond the table of {}",
            rows.longest - 1, e.positions.rows());
  }
  const DType dtype = e.table.dtype() == DType::i8 ? DType::f32 : e.table.dtype();
  Tensor out = context.tensor(ids.cols(), e.table.cols(), dtype);
  const Embed forward{.out = out.view(),
                      .table = e.table.view(),
                      .ids = ids.ids(),
                      .position = rows.position.ids(),
                      .positions = e.positions.view(),
                      .scale = e.scale,
                      .dropout = dropout};
  context.backend().embed(forward);
  if (context.track(out, {e.table}))
    context.record("embed", out, [&context, forward, out, table = e.table] {
      const auto grad = context.gradient_of(table);
      if (!grad.accumulate) context.backend().fill(grad.view, 0);
      context.backend().embed_gradient(forward, out.gradient().view(), grad.view);
    });
  return out;
}

}  // namespace sixfold::ops
