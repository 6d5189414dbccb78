#include "model/heads/class_head.h"

namespace sixfold {
namespace {

ops::OutputWeights projection(ParameterBuilder builder, const ModelConfig& c) {
  const auto weight = builder.matrix("weight", c.head.classes, c.d_model);
  return {weight, builder.vector("bias", c.head.classes, Initial::zeros)};
}

}  // namespace

ClassHead::ClassHead(const ParameterBuilder& builder, const ModelConfig& config)
    : Head(projection(builder.of(ModelPart::head).in("classifier"), config), config.head.classes),
      pooling_(builder.of(ModelPart::head).in("pooling"), config.head.pooling, config.d_model),
      dropout_(config.dropout) {}

Tensor ClassHead::input(const Tensor& states, const Batch& batch, Context& context) const {
  const TokenRows rows = context.token_rows(batch.source.rows, batch.samples);
  const Tensor pooled = pooling_(states, rows, context);
  Ragged single;
  for (int64_t i = 0; i < pooled.rows(); ++i) single.add(1);
  const TokenRows pooled_rows = context.token_rows(single, batch.samples);
  return ops::dropout(context, {pooled, context.dropout(dropout_, pooled_rows)});
}

}  // namespace sixfold
