#pragma once
#include <algorithm>
#include <span>

#include "backend/view.h"

// The kernels that give tokens their positions, and those of the layers that can replace attention:
// convolutions, and linear recurrences over time. See kernels.h. They read packed sequences and rows of a
// decoding state alike.

namespace sixfold {

/// One sequence of queries and the keys it attends to. In a causal span query j of n attends to the first
/// key_count - n + j + 1 keys. For a convolution, the queries are the tokens that get an output, and the keys
/// are the tokens that it reads.
struct AttentionSpan {
  int32_t query_begin, query_count;  ///< rows of `query` and `out`
  int32_t key_begin, key_count;  ///< places in `key_rows`, or rows of `key` and `value` if `key_rows` is empty

  /// For kernels: the row of a key place of the span, counted from 0.
  int64_t key_row(int64_t place, const DeviceSpan<const int32_t>& key_rows) const {
    const int64_t index = key_begin + place;
    return key_rows ? key_rows.data[index] : index;
  }
};

/// The largest number of keys of a span.
inline int64_t max_keys(std::span<const AttentionSpan> spans) {
  int64_t max = 0;
  for (const AttentionSpan& span : spans) max = std::max<int64_t>(max, span.key_count);
  return max;
}

/// The tokens that a convolution reads. The output for the token at place p of a span reads places p - left,
/// p - left + 1, ..., p - left + size - 1. The place of query j of n is key_count - n + j. Places outside of
/// the span count as zeros. Therefore an output depends on no other sequence.
struct ConvolutionWindow {
  DeviceSpan<const AttentionSpan> spans;
  DeviceSpan<const int32_t> key_rows;  ///< the row of each key place; empty: the identity
  int64_t left = 0, size = 1;

  void operands(auto&& visit) { visit("window.spans", spans), visit("window.key_rows", key_rows); }
  /// The taps [begin, end) of a query read places within its span. Tap o reads place `first` + o.
  struct Taps {
    int64_t first, begin, end;
  };
  /// For kernels: the taps of query j of a span.
  Taps taps(const AttentionSpan& span, int64_t j) const {
    const int64_t first = span.key_count - span.query_count + j - left;
    return {first, std::max<int64_t>(-first, 0), std::min<int64_t>(span.key_count - first, size)};
  }
};

namespace kernel {

/// Rotates each pair of features (2i, 2i + 1) of each head by an angle whose sine and cosine are in features 2i
/// and 2i + 1 of row position[r] of `angles` (rotary positions, Su et al. 2021). The inverse rotates back,
/// which is also the gradient. out may be x.
struct Rotate {
  static constexpr const char* name = "rotate";
  View out, x;                         ///< [rows, heads * d], d even
  View angles;                         ///< [longest, d]
  DeviceSpan<const int32_t> position;  ///< [rows]
  bool inverse = false;

  void operands(auto&& visit) {
    visit("out", out), visit("x", x), visit("angles", angles), visit("position", position);
  }
};

/// out = x, except for the last feature of each row, which is position[r] + 1, divided by lengths[r] if there
/// are `lengths`. Without `position` it is 0: the gradient. out may be x.
struct PositionFeature {
  static constexpr const char* name = "position_feature";
  View out, x;                         ///< [rows, d]
  DeviceSpan<const int32_t> position;  ///< [rows], or empty
  DeviceSpan<const int32_t> lengths;   ///< [rows], or empty

  void operands(auto&& visit) {
    visit("out", out), visit("x", x), visit("position", position), visit("lengths", lengths);
  }
};

/// out = x * sigmoid(gate), element by element. Views may be columns of wider matrices.
struct Gate {
  static constexpr const char* name = "gate";
  View out, x, gate;
  bool accumulate = false;  ///< add to the contents of `out`

  void operands(auto&& visit) { visit("out", out), visit("x", x), visit("gate", gate); }
};

/// The gradients of Gate; both are overwritten.
struct GateGradient {
  static constexpr const char* name = "gate_gradient";
  View grad_x, grad_gate, grad_out, x, gate;

  void operands(auto&& visit) {
    visit("grad_x", grad_x), visit("grad_gate", grad_gate), visit("grad_out", grad_out);
    visit("x", x), visit("gate", gate);
  }
};

/// out [queries, size * d] = the rows of x [keys, d] in the window of each query, side by side. A convolution
/// is the product of this matrix with its weight.
struct Unfold {
  static constexpr const char* name = "unfold";
  View out, x;
  ConvolutionWindow window;

  void operands(auto&& visit) {
    visit("out", out), visit("x", x);
    window.operands(visit);
  }
};

/// The gradient of Unfold, for spans whose queries are their keys: row j of grad_x [keys, d] is the sum of the
/// parts of grad_out [queries, size * d] that were copied from row j, in the order of the queries. It is
/// overwritten.
struct Fold {
  static constexpr const char* name = "fold";
  View grad_x, grad_out;
  ConvolutionWindow window;  ///< without `key_rows`

  void operands(auto&& visit) {
    visit("grad_x", grad_x), visit("grad_out", grad_out);
    window.operands(visit);
  }
};

/// out [queries, d] = bias + the sum over the taps o of weight[o] * x[row o of the window], feature by feature.
/// If `flipped`, tap o uses row size - 1 - o of the weight. For spans whose queries are their keys, the
/// gradient with respect to x is the flipped convolution of grad_out with left' = size - 1 - left.
struct Depthwise {
  static constexpr const char* name = "depthwise";
  View out, x;  ///< [queries, d], [keys, d]
  View weight;  ///< [size, d]
  View bias;    ///< [1, d], or empty
  ConvolutionWindow window;
  bool flipped = false;

  void operands(auto&& visit) {
    visit("out", out), visit("x", x), visit("weight", weight), visit("bias", bias);
    window.operands(visit);
  }
};

/// grad_weight[o] += the sum over the queries, in order, of grad_out * x[row o of the window].
struct DepthwiseWeightGradient {
  static constexpr const char* name = "depthwise_weight_gradient";
  View grad_weight;  ///< [size, d]
  View grad_out, x;  ///< [queries, d], [keys, d]
  ConvolutionWindow window;

  void operands(auto&& visit) {
    visit("grad_weight", grad_weight), visit("grad_out", grad_out), visit("x", x);
    window.operands(visit);
  }
};

/// out[t] = f[t] * out[t - 1] + (1 - f[t]) * value[t] for the tokens of each span in order, feature by feature,
/// with f = sigmoid(gate). With an empty gate, f is position / (position + 1), which makes out[t] the average
/// of the values so far. The predecessor of the first token of a span is the row of `before` at the last key
/// place of the span, or zeros if the span has no key.
struct LinearRecurrence {
  static constexpr const char* name = "linear_recurrence";
  View out, value;                     ///< [tokens, d]
  View gate;                           ///< [tokens, d], or empty
  View before;                         ///< [rows, d], or empty if no span has a key
  DeviceSpan<const int32_t> position;  ///< [tokens], read if `gate` is empty
  DeviceSpan<const AttentionSpan> spans;
  DeviceSpan<const int32_t> key_rows;  ///< the row of each key place; empty: the identity

  void operands(auto&& visit) {
    visit("out", out), visit("value", value), visit("gate", gate), visit("before", before);
    visit("position", position), visit("spans", spans), visit("key_rows", key_rows);
  }
};

/// The gradients of LinearRecurrence, for spans without keys. Both are overwritten.
struct LinearRecurrenceGradient {
  static constexpr const char* name = "linear_recurrence_gradient";
  LinearRecurrence forward;  ///< with the `out` that it computed
  View grad_out;
  View grad_value, grad_gate;  ///< [tokens, d]; grad_gate is empty if the gate is

  void operands(auto&& visit) {
    forward.operands(visit);
    visit("grad_out", grad_out), visit("grad_value", grad_value), visit("grad_gate", grad_gate);
  }
};

}  // namespace kernel
}  // namespace sixfold
