#pragma once
#include "model/layers/architecture.h"
#include "model/layers/linear.h"
#include "model/layers/mixer.h"

// Mixers for decoders whose state is one row. Therefore the cost of decoding a token does not grow with its
// position.

namespace sixfold {

/// The simpler simple recurrent unit (Kim et al. 2019):
///   f_t = sigmoid(W_f x_t + b_f),  c_t = f_t c_{t-1} + (1 - f_t) W x_t,  y_t = relu(c_t).
/// Both products are computed for all tokens at once; only c_t is computed token by token, and it is the state.
class SimpleRecurrentUnit final : public Mixer {
 public:
  SimpleRecurrentUnit(ParameterBuilder make, const Architecture& a);
  StateShape state() const override { return {.widths = {d_model_}, .retain = 1}; }
  Reach reach() const override { return {.left = Reach::all, .right = 0, .sequential = true}; }
  Tensor operator()(const Tensor& x, LayerContext& c) const override;

 private:
  int64_t d_model_;
  Linear forget_, value_;  // `value_` has no bias
};

/// The average attention network (Zhang et al. 2018) without its feed-forward network: g_t is the average of
/// the tokens up to t, and two gates weigh it against the token itself:
///   [i; f] = sigmoid(W [x_t; g_t] + b),  y_t = i x_t + f g_t.
/// The state is g_t.
class AverageAttention final : public Mixer {
 public:
  AverageAttention(ParameterBuilder make, const Architecture& a);
  StateShape state() const override { return {.widths = {d_model_}, .retain = 1}; }
  Reach reach() const override { return {.left = Reach::all, .right = 0}; }
  Tensor operator()(const Tensor& x, LayerContext& c) const override;

 private:
  int64_t d_model_;
  Linear gates_;
};

}  // namespace sixfold
