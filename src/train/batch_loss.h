#pragma once
#include "data/batcher.h"
#include "model/transformer.h"

namespace sixfold {

/// The loss of a batch, summed over its target tokens: the model over given targets, then the output's cross
/// entropy.
inline double batch_loss(const Transformer& model, const Batch& batch, const ops::LossOptions& options,
                         Context& context) {
  const Tensor states = model.states({batch.source, batch.target_input, batch.sentence_ids}, context);
  return ops::cross_entropy(context, states, model.output(), context.indices(batch.labels), options);
}

}  // namespace sixfold
