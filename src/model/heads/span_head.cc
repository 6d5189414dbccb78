#include "model/heads/span_head.h"

namespace sixfold {
namespace {

constexpr int start_and_end = 2;

}  // namespace

// A bias would change nothing: it is the same for all rows that the softmax compares.
SpanHead::SpanHead(const ParameterBuilder& builder, const ModelConfig& config)
    : Head({builder.of(ModelPart::head).in("qa_outputs").matrix("weight", start_and_end, config.d_model), {}},
           start_and_end) {}

Tensor SpanHead::loss(const Tensor& states, const Batch& batch, const ops::LossOptions& options,
                      Context& context) const {
  return ops::span_loss(context, states, output().weight, {batch.choices, context.indices(batch.labels)},
                        options);
}

}  // namespace sixfold
