#pragma once
#include <functional>
#include <memory>

#include "layers/layer_context.h"
#include "layers/parameters.h"

namespace sixfold {

struct Architecture;

/// The part of a layer that mixes the tokens of a sequence. In figure 1 it is self-attention; it can also be a
/// recurrent cell or a convolution. It processes packed rows, and accesses the earlier tokens of a sequence
/// only through `LayerContext::state`. Therefore a single token, several tokens and a whole sequence are
/// processed by the same call. Const members may be called from several threads.
class Mixer {
 public:
  virtual ~Mixer() = default;
  /// The state that it keeps for each token in decoding.
  virtual StateShape state() const = 0;
  /// x: [tokens, d_model] -> [tokens, d_model].
  virtual Tensor operator()(const Tensor& x, LayerContext& c) const = 0;
};

/// The position of a mixer in the model.
struct MixerPlace {
  AttentionKind stack = AttentionKind::encoder;  ///< encoder or decoder
  int layer = 0;
};

/// Creates the mixer of a layer. Its weights are named within the builder's scope.
using MixerFactory =
    std::function<std::unique_ptr<const Mixer>(ParameterBuilder make, const Architecture& a, MixerPlace place)>;

/// Creates the mixer that the architecture specifies: self-attention.
std::unique_ptr<const Mixer> make_mixer(ParameterBuilder make, const Architecture& a, MixerPlace place);

}  // namespace sixfold
