#pragma once
#include "model/layers/architecture.h"
#include "model/layers/linear.h"
#include "model/layers/mixer.h"

namespace sixfold {

/// A mixer that reads a window of `kernel_size` tokens: in a decoder the token and the tokens before it; in an
/// encoder a window with the token in the middle. An even kernel reads one token more on the right than on the
/// left. The state consists of the earlier tokens of the window.
class WindowMixer : public Mixer {
 public:
  StateShape state() const override { return {.widths = {d_model_}, .retain = window_.left}; }
  Reach reach() const override { return {.left = window_.left, .right = window_.size - 1 - window_.left}; }

 protected:
  WindowMixer(const Architecture& a, MixerPlace place);

  int64_t d_model_;
  ops::Window window_;
};

/// A gated convolution, as in ConvS2S (Gehring et al. 2017): of the window's tokens side by side it computes
///   [a; b] = W [x_1; ...; x_k] + bias,  y = a * sigmoid(b).
/// Column o * d_model + i of W is feature i of token o.
class Convolution final : public WindowMixer {
 public:
  Convolution(ParameterBuilder make, const Architecture& a, MixerPlace place);
  Tensor operator()(const Tensor& x, LayerContext& c) const override;

 private:
  Linear taps_;
};

/// A depthwise-separable convolution (Chollet 2017; Kaiser et al. 2018): each feature has a filter of k weights
/// over the tokens, and a linear map then mixes the features of each token.
class SeparableConvolution final : public WindowMixer {
 public:
  SeparableConvolution(ParameterBuilder make, const Architecture& a, MixerPlace place);
  Tensor operator()(const Tensor& x, LayerContext& c) const override;

 private:
  ops::DepthwiseWeights depthwise_;
  Linear pointwise_;
};

}  // namespace sixfold
