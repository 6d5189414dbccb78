#include "model/layers/convolution.h"

#include <array>

namespace sixfold {

WindowMixer::WindowMixer(const Architecture& a, MixerPlace place)
    : d_model_(a.d_model),
      window_{a.kernel_size, (a.kernel_size - 1) / (place.stack == AttentionKind::decoder ? 1 : 2)} {}

Convolution::Convolution(ParameterBuilder make, const Architecture& a, MixerPlace place)
    : WindowMixer(a, place), taps_(make.in("conv"), a.kernel_size * d_model_, 2 * d_model_) {}

Tensor Convolution::operator()(const Tensor& x, LayerContext& c) const {
  Context::Scope scope(c.context, "conv");
  const std::array parts{x};
  const StateRows seen = c.state.append(c.layer, parts);
  const Tensor side_by_side = ops::unfold(c.context, seen.parts[0], window_, seen.pattern);  // [tokens, k * d]
  return ops::glu(c.context, taps_(side_by_side, c.context));
}

SeparableConvolution::SeparableConvolution(ParameterBuilder make, const Architecture& a, MixerPlace place)
    : WindowMixer(a, place),
      depthwise_{make.in("depthwise").filters("weight", a.kernel_size, d_model_),
                 make.in("depthwise").vector("bias", d_model_, Initial::zeros), window_.left},
      pointwise_(make.in("pointwise"), d_model_, d_model_) {}

Tensor SeparableConvolution::operator()(const Tensor& x, LayerContext& c) const {
  Context::Scope scope(c.context, "separable");
  const std::array parts{x};
  const StateRows seen = c.state.append(c.layer, parts);
  return pointwise_(ops::depthwise(c.context, seen.parts[0], depthwise_, seen.pattern), c.context);
}

}  // namespace sixfold
