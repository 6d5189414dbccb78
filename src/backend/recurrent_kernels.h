#pragma once
#include "backend/sequence_kernels.h"
#include "base/error.h"

// The kernels of recurrent cells, besides the matrix products. See kernels.h. A cell is computed step by step;
// one step is computed for all sequences of a batch together, so that their states are the rows of a matrix.

namespace sixfold {

/// A recurrent cell, with the formulas of PyTorch. x_i are the products of the inputs, h_i those of the
/// previous state h, both with their biases.
enum class RecurrentCell {
  tanh,  ///< h' = tanh(x + h)
  /// i, f, o = sigmoid(x + h), g = tanh(x_g + h_g), c' = f c + i g, h' = o tanh(c'); in the order i, f, g, o
  lstm,
  gru,  ///< r, z = sigmoid(x + h), n = tanh(x_n + r h_n), h' = (1 - z) n + z h; in the order r, z, n
};

/// The number of blocks of features in the products of a cell.
constexpr int gates_of(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::tanh:
      return 1;
    case RecurrentCell::lstm:
      return 4;
    case RecurrentCell::gru:
      return 3;
  }
  throw_unknown("recurrent cell", cell);
}

namespace kernel {

/// One step of a cell, for each row. Empty previous states count as zeros.
struct RecurrentStep {
  static constexpr const char* name = "recurrent_step";
  RecurrentCell cell = RecurrentCell::tanh;
  View gates;            ///< [rows, gates * d]: x + h, or for gru x; overwritten by the activations
  View recurrent;        ///< [rows, 3 d] for gru: h; else empty
  View previous_state;   ///< [rows, d] for gru, or empty
  View previous_memory;  ///< [rows, d] for lstm: c, or empty
  View state;            ///< [rows, d]: h'
  View memory;           ///< [rows, d] for lstm: c'

  void operands(auto&& visit) {
    visit("gates", gates), visit("recurrent", recurrent), visit("previous_state", previous_state);
    visit("previous_memory", previous_memory), visit("state", state), visit("memory", memory);
  }
};

/// The gradients of RecurrentStep.
struct RecurrentStepGradient {
  static constexpr const char* name = "recurrent_step_gradient";
  RecurrentStep forward;  ///< with the activations and states that it computed
  View grad_state;        ///< [rows, d]: the gradient of h' through its uses outside of the cell
  /// [rows, d]: the gradient of h' through the next step. For gru it is overwritten by the part of the gradient
  /// of h that does not pass through a product.
  View carried_state;
  /// [rows, d] for lstm: the gradient of c' through the next step; overwritten by the gradient of c.
  View carried_memory;
  View grad_gates;      ///< [rows, gates * d]: the gradient of x; overwritten; may be `forward.gates`
  View grad_recurrent;  ///< [rows, 3 d] for gru: the gradient of h; overwritten; may be `forward.recurrent`

  void operands(auto&& visit) {
    forward.operands(visit);
    visit("grad_state", grad_state), visit("carried_state", carried_state);
    visit("carried_memory", carried_memory), visit("grad_gates", grad_gates);
    visit("grad_recurrent", grad_recurrent);
  }
};

/// out[i] = the row of x at the last key place of span i, or zeros if the span has no key.
struct LastRows {
  static constexpr const char* name = "last_rows";
  View out;  ///< [spans, d]
  View x;    ///< [rows, d], or empty if no span has a key
  DeviceSpan<const AttentionSpan> spans;
  DeviceSpan<const int32_t> key_rows;  ///< the row of each key place; empty: the identity

  void operands(auto&& visit) {
    visit("out", out), visit("x", x), visit("spans", spans), visit("key_rows", key_rows);
  }
};

}  // namespace kernel

}  // namespace sixfold
