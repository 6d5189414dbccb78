#pragma once
#include <optional>

#include "model/attention.h"

namespace sixfold {

/// Figure 1, one layer: self-attention, attention over the encoder's output where there is one (the right
/// column), and feed-forward, each with its residual connection.
class TransformerLayer {
 public:
  /// With `cross_attention` a layer of the right column, else of the left one.
  TransformerLayer(ParameterBuilder make, const Architecture& a, bool cross_attention);

  /// x: [tokens, d_model] -> [tokens, d_model].
  Tensor operator()(Tensor x, LayerContext& c) const;
  /// The encoder's output [source tokens, d_model] as keys and values of cross-attention, without a pattern.
  KeyValues project_memory(const Tensor& encoder_output, Context& context) const;

 private:
  struct CrossSublayer {
    CrossAttention attention;
    Residual residual;
  };

  SelfAttention self_attention_;
  Residual self_residual_;
  std::optional<CrossSublayer> cross_;
  FeedForward feed_forward_;
  Residual feed_forward_residual_;
};

/// Section 3.1: a stack of identical layers, the encoder or the decoder, over embedded tokens.
class Stack {
 public:
  /// `name` "encoder" or "decoder" begins the names of weights and is the module that a tape knows.
  Stack(ParameterBuilder make, const std::string& name, const Architecture& a, int layers,
        bool cross_attention);

  int layers() const { return static_cast<int>(layers_.size()); }
  /// embedded: [tokens, d_model] -> states [tokens, d_model].
  Tensor operator()(const Tensor& embedded, LayerContext& c) const;
  /// The encoder's output [source tokens, d_model], projected once for the cross-attention of all layers;
  /// `pattern` says what the stack's tokens see of it.
  std::vector<KeyValues> project_memory(const Tensor& encoder_output,
                                        const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                        Context& context) const;

 private:
  std::string name_;
  ProcessSequence postprocess_embedding_;
  std::vector<TransformerLayer> layers_;
  ProcessSequence postprocess_top_;
};

}  // namespace sixfold
