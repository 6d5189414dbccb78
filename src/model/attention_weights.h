#pragma once
#include <vector>

#include "model/transformer.h"

namespace sixfold {

/// Runs the model on `batch` and returns the attention weights of one layer: for each sample [heads, target,
/// source], in host memory. For self-attention both sides are the same sequence. Throws an input error if there
/// is no such layer. Waits for the kernels. `states`, unless it is null, is set to the result of
/// `Transformer::states`.
std::vector<std::vector<float>> attention_weights(const Transformer& model, const Batch& batch,
                                                  AttentionKind kind, int layer, Context& context,
                                                  Tensor* states = nullptr);

/// The attention weights of a layer.
struct LayerAttention {
  AttentionKind kind;
  int layer;
  std::vector<std::vector<float>> weights;  ///< as the result of `attention_weights`
};

/// Returns the weights of all layers with attention, from one run of the model: those of the encoder, then
/// those of the decoder in the order in which they are computed.
std::vector<LayerAttention> all_attention_weights(const Transformer& model, const Batch& batch,
                                                  Context& context);

}  // namespace sixfold
