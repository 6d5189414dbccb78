#pragma once
#include <optional>

#include "model/layers/architecture.h"
#include "model/layers/linear.h"
#include "model/layers/mixer.h"

namespace sixfold {

/// A recurrent cell with its weights: h_t = cell(x_t, h_{t-1}); see `RecurrentCell` for the formulas.
class Recurrence {
 public:
  /// in: width of x. d: width of the states. Weights are named within `make`'s scope.
  Recurrence(ParameterBuilder make, RecurrentCell cell, int64_t in, int64_t d);

  RecurrentCell cell() const { return cell_; }
  /// The products of the inputs x [n, in] for all gates: [n, gates * d].
  Tensor input(const Tensor& x, Context& context) const { return input_(x, context); }
  /// Runs the cell through `steps`. `gates`, in the order of the batch, is overwritten. `state` and `memory`:
  /// the initial states, or empty.
  ops::RecurrentOutputs run(const Tensor& gates, const Tensor& state, const Tensor& memory,
                            std::shared_ptr<const ops::TimeSteps> steps, Context& context) const;

 private:
  RecurrentCell cell_;
  Linear input_;
  Tensor weight_, bias_;  // of the products of the previous states; only gru has the bias
};

/// A recurrent network instead of self-attention: tanh, LSTM or GRU. In a decoder it reads the earlier tokens
/// and keeps the state of the newest one. In an encoder two networks of half the width read the sentence in
/// both directions (Schuster and Paliwal 1997). The decoder's cross-attention, which follows in the same layer,
/// then is that of Luong et al. (2015): it reads the encoder's output with the state as query.
class RecurrentMixer final : public Mixer {
 public:
  RecurrentMixer(const ParameterBuilder& make, const Architecture& a, MixerPlace place, RecurrentCell cell);
  StateShape state() const override;
  Reach reach() const override {
    return {.left = Reach::all, .right = backward_ ? Reach::all : 0, .sequential = true};
  }
  Tensor operator()(const Tensor& x, LayerContext& c) const override;

 private:
  Tensor both_directions(const Tensor& x, LayerContext& c) const;

  int64_t width_;
  Recurrence forward_;
  std::optional<Recurrence> backward_;  // in an encoder
};

/// The decoder of Bahdanau et al. (2015): before each step the state attends to the encoder's output, and the
/// cell (GRU) reads the result: c_t = Attention(h_{t-1}, memory), h_t = GRU([x_t; c_t], h_{t-1}). The score is
/// v tanh(q + k). The steps of a sentence are computed one after the other, but a step is computed for all
/// sentences together.
class BahdanauMixer final : public Mixer {
 public:
  BahdanauMixer(const ParameterBuilder& make, const Architecture& a);
  StateShape state() const override { return {.widths = {width_}, .retain = 1}; }
  Reach reach() const override { return {.left = Reach::all, .right = 0, .sequential = true}; }
  Tensor operator()(const Tensor& x, LayerContext& c) const override;
  bool reads_memory() const override { return true; }
  KeyValues project_memory(const Tensor& encoder_output, Context& context) const override;

 private:
  struct Steps;
  ops::AttentionInputs inputs(const Tensor& states, const KeyValues& memory, Context& context) const;
  void observe(const Steps& steps, LayerContext& c) const;

  int64_t width_;
  int heads_, kv_heads_;
  Recurrence cell_;
  Linear query_, key_, value_;
  Tensor score_weight_;    // [1, heads * d_k]
  Tensor context_weight_;  // [3 d, heads * d_v]: from the output of attention to the gates
};

}  // namespace sixfold
