#pragma once
#include <memory>
#include <optional>

#include "model/layers/attention.h"
#include "model/layers/distance_bias.h"
#include "model/layers/feed_forward.h"
#include "model/layers/mixer.h"
#include "model/layers/residual.h"

namespace sixfold {

/// One layer of figure 1: self-attention or another mixer, cross-attention over the encoder's output in the
/// layers of a decoder (the right column), and the feed-forward network, each with its residual connection.
/// Immutable; const members may be called from several threads.
class TransformerLayer {
 public:
  /// With `cross_attention` it is a layer of the figure's right column, otherwise of the left one. Weights are
  /// named within `make`'s scope.
  TransformerLayer(ParameterBuilder make, const Architecture& a, std::unique_ptr<const Mixer> mixer,
                   bool cross_attention);

  /// x: [tokens, d_model] -> [tokens, d_model].
  Tensor operator()(Tensor x, LayerContext& c) const;
  /// The state that the mixer keeps for each token in decoding.
  StateShape state() const { return mixer_->state(); }
  /// Projects the encoder's output [source tokens, d_model] to the keys and values of cross-attention, or of a
  /// mixer that reads it itself. Their pattern is null.
  KeyValues project_memory(const Tensor& encoder_output, Context& context) const;

 private:
  struct CrossSublayer {
    CrossAttention attention;
    Residual residual;
  };

  std::unique_ptr<const Mixer> mixer_;  // self-attention or another mixer
  Residual mixer_residual_;
  std::optional<CrossSublayer> cross_;
  FeedForward feed_forward_;
  Residual feed_forward_residual_;
  bool parallel_;  // all sub-layers read the input of the layer
};

/// A stack of identical layers, the encoder or the decoder (section 3.1), applied to embedded tokens.
/// Immutable; const members may be called from several threads.
class Stack {
 public:
  /// `kind`: encoder or decoder. Weights are named within `make`'s scope. The tape records ops of the layers
  /// under modules such as "encoder.layers.0".
  Stack(ParameterBuilder make, AttentionKind kind, const Architecture& a, bool cross_attention,
        const MixerFactory& mixer);

  int layers() const { return static_cast<int>(layers_.size()); }
  /// The state that each layer keeps for a token in decoding.
  std::vector<StateShape> state() const;
  /// embedded: [tokens, d_model] -> states [tokens, d_model]. A layer that is dropped (`Context::drops_layer`)
  /// is not computed: its output is its input.
  Tensor operator()(const Tensor& embedded, LayerContext& c) const;
  /// Projects the encoder's output [source tokens, d_model] to keys and values for the cross-attention of each
  /// layer that is not dropped. `pattern`: the source tokens that each target token attends to.
  std::vector<KeyValues> project_memory(const Tensor& encoder_output,
                                        const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                        Context& context) const;

 private:
  bool drops_layer(size_t layer, const Context& context) const {
    return context.drops_layer(static_cast<uint32_t>(kind_), static_cast<uint32_t>(layer));
  }

  AttentionKind kind_;
  std::vector<std::string> scopes_;  // names of the layers: "encoder.layers.0"
  std::unique_ptr<const DistanceBias> distance_bias_;
  ProcessSequence postprocess_embedding_;
  std::vector<TransformerLayer> layers_;
  ProcessSequence postprocess_top_;
};

}  // namespace sixfold
