#pragma once
#include "data/batcher.h"
#include "model/transformer.h"

namespace sixfold {

/// The loss of a batch, summed over its target tokens: the model over given targets, then the output's cross
/// entropy.
inline double batch_loss(const Transformer& model, const Batch& batch, const ops::LossOptions& options,
                         Pass& pass) {
  const Tensor states = model.states({batch.source, batch.target_input, batch.sentence_ids}, pass);
  return ops::cross_entropy(pass, states, model.output(), pass.indices(batch.target_output), options);
}

}  // namespace sixfold
