#include "model/layers/feed_forward.h"

namespace sixfold {

FeedForward::FeedForward(ParameterBuilder make, const Architecture& a)
    : weights_(make_weights(make, a)), dropout_(a.activation_dropout) {}

ops::FeedForwardWeights FeedForward::make_weights(ParameterBuilder& make, const Architecture& a) {
  const auto bias = [&](const char* name, int64_t size) {
    return a.feed_forward_bias ? make.vector(name, size, Initial::zeros) : Tensor();
  };
  ops::FeedForwardWeights w;
  w.activation = a.activation;
  w.weight1 = make.matrix("fc1.weight", a.d_ff, a.d_model);
  w.bias1 = bias("fc1.bias", a.d_ff);
  w.weight2 = make.matrix("fc2.weight", a.d_model, a.d_ff);
  w.bias2 = bias("fc2.bias", a.d_model);
  w.adapter1 = make.in("fc1").adapter(a.d_ff, a.d_model);
  w.adapter2 = make.in("fc2").adapter(a.d_model, a.d_ff);
  if (a.feed_forward_gate) {
    w.gate_weight = make.matrix("fc_gate.weight", a.d_ff, a.d_model);
    w.gate_bias = bias("fc_gate.bias", a.d_ff);
    w.gate_adapter = make.in("fc_gate").adapter(a.d_ff, a.d_model);
  }
  return w;
}

}  // namespace sixfold
