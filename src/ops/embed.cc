#include "ops/check.h"
#include "ops/ops.h"

namespace sixfold::ops {

Tensor embed(Context& context, const Embedding& e, const Tensor& ids, const TokenRows& rows,
             const Dropout& dropout) {
  check_shape("embed", "ids", ids, 1, rows.ragged.tokens());
  if (e.positions) {
    check_shape("embed", "positions", e.positions, -1, e.table.cols());
    require(rows.longest <= e.positions.rows(), "embed: position {} exceeds the table of {} positions",
            rows.longest - 1, e.positions.rows());
  }
  const DType dtype = e.table.dtype() == DType::i8 ? DType::f32 : e.table.dtype();
  Tensor out = context.tensor(ids.cols(), e.table.cols(), dtype);
  context.backend().run(kernel::Embed{.out = out.view(),
                                      .table = e.table.view(),
                                      .ids = ids.ids(),
                                      .position = rows.position.ids(),
                                      .positions = e.positions.view(),
                                      .scale = e.scale,
                                      .dropout = dropout});
  if (context.track(out, {e.table}))
    context.record("embed", out, {ids}, [&context, out, ids, table = e.table, scale = e.scale, dropout] {
      context.backend().run(kernel::EmbedGradient{out.gradient().view(), context.summed_gradient_of(table),
                                                  ids.ids(), scale, dropout});
    });
  return out;
}

}  // namespace sixfold::ops
