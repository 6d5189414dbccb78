#pragma once
#include "layers/architecture.h"
#include "layers/linear.h"
#include "layers/mixer.h"

namespace sixfold {

/// The window of `kernel_size` tokens that a convolution reads: in a decoder the token and the tokens before
/// it; in an encoder a window whose middle is the token. An even kernel reads one token more on the right than
/// on the left.
ops::Window convolution_window(const Architecture& a, MixerPlace place);

/// A gated convolution, as in ConvS2S (Gehring et al. 2017): with k tokens side by side, [a; b] = W [x_1; ...;
/// x_k]
/// + bias and y = a * sigmoid(b). Column o * d_model + i of W is feature i of token o.
class Convolution final : public Mixer {
 public:
  Convolution(ParameterBuilder make, const Architecture& a, MixerPlace place);
  StateShape state() const override { return {.widths = {d_model_}, .retain = window_.left}; }
  Reach reach() const override { return {.left = window_.left, .right = window_.size - 1 - window_.left}; }
  Tensor operator()(const Tensor& x, LayerContext& c) const override;

 private:
  int64_t d_model_;
  ops::Window window_;
  Linear taps_;
};

/// A depthwise-separable convolution (Chollet 2017; Kaiser et al. 2018): each feature has a filter of k weights
/// over the tokens, and a linear map then mixes the features of each token.
class SeparableConvolution final : public Mixer {
 public:
  SeparableConvolution(ParameterBuilder make, const Architecture& a, MixerPlace place);
  StateShape state() const override { return {.widths = {d_model_}, .retain = window_.left}; }
  Reach reach() const override { return {.left = window_.left, .right = window_.size - 1 - window_.left}; }
  Tensor operator()(const Tensor& x, LayerContext& c) const override;

 private:
  int64_t d_model_;
  ops::Window window_;
  ops::DepthwiseWeights depthwise_;
  Linear pointwise_;
};

}  // namespace sixfold
