#pragma once
#include <vector>

#include "model/transformer.h"

namespace sixfold {

/// The attention weights of one layer while the model runs over `batch`: for each sample [heads, target,
/// source] (of self-attention the two are one). Throws an input error for a layer that is not there.
std::vector<std::vector<float>> attention_weights(const Transformer& model, const Batch& batch,
                                                  AttentionKind kind, int layer, Context& context);

}  // namespace sixfold
