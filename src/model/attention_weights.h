#pragma once
#include <vector>

#include "model/transformer.h"

namespace sixfold {

/// Runs the model on `batch` and returns the attention weights of one layer: for each sample [heads, target,
/// source], on the host. For self-attention both sides are the same sequence. Throws an input error if there is
/// no such layer. Waits for the kernels.
std::vector<std::vector<float>> attention_weights(const Transformer& model, const Batch& batch,
                                                  AttentionKind kind, int layer, Context& context);

}  // namespace sixfold
