#pragma once
#include <functional>
#include <limits>
#include <memory>

#include "model/layers/layer_context.h"
#include "model/layers/parameters.h"

namespace sixfold {

struct Architecture;

/// Which inputs an output of a mixer reads (its receptive field): those of its own sequence that are at most
/// `left` places before it or `right` places after it. The columns of table 1 of the paper follow from this:
/// with `n` tokens, a signal from one end of a sequence to the other passes through one layer if the mixer
/// reads all places, through n steps within a layer if it is sequential, and otherwise through n / left or n /
/// right layers (`path_length`).
struct Reach {
  static constexpr int64_t all = std::numeric_limits<int64_t>::max();

  int64_t left = all, right = all;
  /// Whether an output reads earlier inputs only through the outputs in between, as recurrent cells do, so that
  /// the steps of a sequence are computed one after the other.
  bool sequential = false;
};

/// The part of a layer that mixes the tokens of a sequence. In figure 1 it is self-attention; it can also be a
/// recurrent cell or a convolution. It processes packed rows, and accesses the earlier tokens of a sequence
/// only through `LayerContext::state`. Therefore a single token, several tokens and a whole sequence are
/// processed by the same call. Const members may be called from several threads.
class Mixer {
 public:
  virtual ~Mixer() = default;
  /// The state that it keeps for each token in decoding.
  virtual StateShape state() const = 0;
  /// The inputs that an output reads within this layer.
  virtual Reach reach() const = 0;
  /// x: [tokens, d_model] -> [tokens, d_model].
  virtual Tensor operator()(const Tensor& x, LayerContext& c) const = 0;
  /// Whether it reads the encoder's output itself, as `LayerContext::memory`. Its layer then has no
  /// cross-attention.
  virtual bool reads_memory() const { return false; }
  /// Projects the encoder's output [source tokens, d_model] to the keys and values that it reads. Their pattern
  /// is null.
  virtual KeyValues project_memory(const Tensor&, Context&) const { return {}; }
};

/// The position of a mixer in the model.
struct MixerPlace {
  AttentionKind stack = AttentionKind::encoder;  ///< encoder or decoder
  int layer = 0;
};

/// Creates the mixer of a layer. Its weights are named within the builder's scope.
using MixerFactory =
    std::function<std::unique_ptr<const Mixer>(ParameterBuilder make, const Architecture& a, MixerPlace place)>;

/// Creates the mixer that the architecture specifies for a stack (`MixerKind`).
std::unique_ptr<const Mixer> make_mixer(ParameterBuilder make, const Architecture& a, MixerPlace place);

}  // namespace sixfold
