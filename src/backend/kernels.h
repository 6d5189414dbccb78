#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>

#include "backend/optimizer_kernels.h"
#include "backend/output_kernels.h"
#include "backend/recurrent_kernels.h"
#include "backend/sequence_kernels.h"
#include "backend/view.h"

// The kernels of a backend: a struct for each kernel with its operands, and KernelCall, which refers to one of
// them. A View or DeviceSpan is memory of the backend; a std::span or a plain pointer is host memory.
// `operands(visit)` calls visit(name, field) for each View and DeviceSpan of a kernel. Code that has to check
// or move all operands uses it for all kernels alike. Matrices are fp32 or fp64 unless a kernel says otherwise.

namespace sixfold {

struct PackedWeight;

/// The activation between the two linear maps of a feed-forward layer.
enum class Activation {
  relu,          ///< max(0, x)
  swish,         ///< x sigmoid(x)
  gelu,          ///< x Phi(x), with Phi the distribution function of the normal distribution
  sigmoid_gelu,  ///< x sigmoid(1.702 x), an approximation of gelu
  tanh_gelu,     ///< x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), a closer one
  sigmoid,       ///< 1 / (1 + exp(-x)), for gates
  tanh,
};

/// Steps applied to the result of a product while it is still in registers, in this order.
struct Epilogue {
  View bias;          ///< [1, cols]: added to every row
  bool relu = false;  ///< max(0, x)
  View relu_of;       ///< [rows, cols]: the result becomes 0 where this is not > 0 (the gradient of ReLU)

  void operands(auto&& visit) { visit("epilogue.bias", bias), visit("epilogue.relu_of", relu_of); }
};

/// Defines the random bits of dropout. Element (row, feature) is dropped if 16 bits of Philox(counter =
/// {feature / 8, position[row], sentence[row], module}, key = {seed, update}) are below `threshold`. In a block
/// of eight features, features 2j and 2j + 1 use the low and the high half of word j.
struct Dropout {
  DeviceSpan<const int32_t> sentence;  ///< [rows]
  DeviceSpan<const int32_t> position;  ///< [rows]
  uint32_t seed = 0, update = 0, module = 0;
  uint32_t threshold = 0;  ///< probability * 65536; 0: keep everything

  explicit operator bool() const { return threshold != 0; }
  double keep_scale() const { return 65536.0 / (65536.0 - threshold); }
  void operands(auto&& visit) { visit("dropout.sentence", sentence), visit("dropout.position", position); }
};

/// For dropout of attention weights, each head counts as a module of its own.
inline uint32_t weight_module(const Dropout& dropout, int head) {
  return dropout.module + (static_cast<uint32_t>(head) << 20);
}

namespace kernel {

/// out = value.
struct Fill {
  static constexpr const char* name = "fill";
  View out;
  double value = 0;

  void operands(auto&& visit) { visit("out", out); }
};

/// result [m, n] = op(a) [m, k] * op(b) [k, n], where op is the transpose if requested. Each element is summed
/// over k in order, so that the bits of a row depend neither on other rows nor on threads.
///
/// If `packed_b` was made from int8 (View::scales), `a` is rounded to int8 too, in groups of columns
/// (columns_of_group). For weights of 8 bits, 256 values are distributed evenly over the range of a group,
/// which includes zero; for weights of 4 bits, 255 values around zero. Sums over a group are exact in int32;
/// they are multiplied by the scales and summed in order. transpose_a, accumulate and relu_of are then not
/// supported.
struct Matmul {
  static constexpr const char* name = "matmul";
  View result, a, b;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;                 ///< add to the contents of `result`; the sum over k starts from them
  const PackedWeight* packed_b = nullptr;  ///< used instead of `b`; made from it with the same transpose
  Epilogue epilogue = {};

  void operands(auto&& visit) {
    visit("result", result), visit("a", a), visit("b", b);
    epilogue.operands(visit);
  }
};

/// out [1, d] = the sum of the rows of x, in order.
struct ColumnSum {
  static constexpr const char* name = "column_sum";
  View out, x;
  bool accumulate = false;  ///< add to the contents of `out`; the sum starts from them

  void operands(auto&& visit) { visit("out", out), visit("x", x); }
};

/// out = a + b. out may be a or b.
struct Add {
  static constexpr const char* name = "add";
  View out, a, b;

  void operands(auto&& visit) { visit("out", out), visit("a", a), visit("b", b); }
};

/// out = a * b, element by element. out may be a or b.
struct Multiply {
  static constexpr const char* name = "multiply";
  View out, a, b;

  void operands(auto&& visit) { visit("out", out), visit("a", a), visit("b", b); }
};

/// out = x * factor. out may be x.
struct Scale {
  static constexpr const char* name = "scale";
  View out, x;
  double factor = 1;

  void operands(auto&& visit) { visit("out", out), visit("x", x); }
};

/// Exchanges the elements of a and b.
struct Swap {
  static constexpr const char* name = "swap";
  View a, b;

  void operands(auto&& visit) { visit("a", a), visit("b", b); }
};

/// out = dropout(x). Also computes grad_x from grad_out. out may be x.
struct ApplyDropout {
  static constexpr const char* name = "apply_dropout";
  View out, x;
  Dropout dropout;

  void operands(auto&& visit) {
    visit("out", out), visit("x", x);
    dropout.operands(visit);
  }
};

/// out = activation(x). out may be x.
struct Activate {
  static constexpr const char* name = "activate";
  View out, x;
  Activation activation = Activation::relu;

  void operands(auto&& visit) { visit("out", out), visit("x", x); }
};

/// grad_x = grad_out times the derivative at x. grad_x may be grad_out.
struct ActivateGradient {
  static constexpr const char* name = "activate_gradient";
  View grad_x, grad_out, x;
  Activation activation = Activation::relu;

  void operands(auto&& visit) { visit("grad_x", grad_x), visit("grad_out", grad_out), visit("x", x); }
};

/// out[rows[r]] = x[r]. If out is bf16 and x is fp32, elements are rounded to the nearest, ties to even.
struct CopyRows {
  static constexpr const char* name = "copy_rows";
  View out;
  DeviceSpan<const int32_t> rows;  ///< [rows of x]
  View x;

  void operands(auto&& visit) { visit("out", out), visit("rows", rows), visit("x", x); }
};

/// out[r] = x[rows[r]], or zeros if rows[r] is negative. The type is arbitrary.
struct GatherRows {
  static constexpr const char* name = "gather_rows";
  View out, x;
  DeviceSpan<const int32_t> rows;     ///< [rows of out]
  DeviceSpan<float> out_scales = {};  ///< [rows of out]: for int8 the scales of the rows; else empty

  void operands(auto&& visit) {
    visit("out", out), visit("x", x), visit("rows", rows), visit("out_scales", out_scales);
  }
};

/// out [rows, d] = dropout(table[ids] * scale + positions[position]), for table [vocab, d] and ids [rows]. A
/// negative id gives a row of zeros for the table's part; an id beyond the table gives its last row. The rows
/// of an int8 table are multiplied by their scales.
struct Embed {
  static constexpr const char* name = "embed";
  View out, table;
  DeviceSpan<const int32_t> ids;
  DeviceSpan<const int32_t> position;  ///< [rows]: row of `positions`
  View positions;                      ///< [longest, d], or empty
  double scale = 1;
  Dropout dropout;  ///< applied to the sum

  /// For kernels: the row of the table for row r of out; negative: zeros.
  int64_t table_row(int64_t r) const { return std::min<int64_t>(ids.data[r], table.rows - 1); }
  void operands(auto&& visit) {
    visit("out", out), visit("table", table), visit("ids", ids), visit("position", position);
    visit("positions", positions);
    dropout.operands(visit);
  }
};

/// grad_table[ids[r]] += scale * dropout(grad_out[r]), with the dropout of the forward pass. Rows are added in
/// order; rows with negative ids are skipped.
struct EmbedGradient {
  static constexpr const char* name = "embed_gradient";
  View grad_out, grad_table;
  DeviceSpan<const int32_t> ids;
  double scale = 1;
  Dropout dropout;

  /// For kernels, as in Embed.
  int64_t table_row(int64_t r) const { return std::min<int64_t>(ids.data[r], grad_table.rows - 1); }
  void operands(auto&& visit) {
    visit("grad_out", grad_out), visit("grad_table", grad_table), visit("ids", ids);
    dropout.operands(visit);
  }
};

/// sum = x + dropout(y); out = (sum - mean) * rstd * weight + bias, for each row of d features (section 3.1).
/// Without `centered` the mean counts as 0, so that rstd is 1 / sqrt(mean of the squares + epsilon): RMSNorm
/// (Zhang and Sennrich 2019).
struct ResidualNorm {
  static constexpr const char* name = "residual_norm";
  View x, y;              ///< [rows, d]; if y is empty, a plain norm of x
  View sum;               ///< [rows, d] or empty: stored for the gradient; may be y
  View statistics;        ///< [rows, 2] or empty: mean and reciprocal of the standard deviation
  View weight, bias;      ///< [1, d]; the bias may be empty
  View out;               ///< [rows, d]; may be x if y is empty
  double epsilon = 1e-5;  ///< added to the variance
  bool centered = true;   ///< false: RMSNorm
  Dropout dropout;

  void operands(auto&& visit) {
    visit("x", x), visit("y", y), visit("sum", sum), visit("statistics", statistics);
    visit("weight", weight), visit("bias", bias), visit("out", out);
    dropout.operands(visit);
  }
};

/// The gradients of ResidualNorm, given grad_out and the stored `sum` and `statistics`.
struct ResidualNormGradient {
  static constexpr const char* name = "residual_norm_gradient";
  View grad_out, sum, statistics, weight;
  View grad_x;                  ///< [rows, d], or empty
  View grad_y;                  ///< [rows, d], or empty
  View grad_weight, grad_bias;  ///< [1, d], or empty; added to
  bool accumulate_x = false;    ///< add to grad_x instead of overwriting it; grad_y is always overwritten
  bool centered = true;         ///< as in ResidualNorm
  Dropout dropout;

  void operands(auto&& visit) {
    visit("grad_out", grad_out), visit("sum", sum), visit("statistics", statistics), visit("weight", weight);
    visit("grad_x", grad_x), visit("grad_y", grad_y);
    visit("grad_weight", grad_weight), visit("grad_bias", grad_bias);
    dropout.operands(visit);
  }
};

/// out = (x - mean) / sqrt(variance + epsilon) * weight + bias, with the mean and the variance of each feature
/// (Ioffe and Szegedy 2015).
struct BatchNorm {
  static constexpr const char* name = "batch_norm";
  View x, out;          ///< [rows, d]
  View mean, variance;  ///< [1, d]; the variance is the mean of the squares of x - mean
  View weight, bias;    ///< [1, d]
  double epsilon = 1e-5;
  /// Compute mean and variance from the rows of x, and write them; false: read them, such as running averages.
  bool use_batch_statistics = true;

  void operands(auto&& visit) {
    visit("x", x), visit("out", out), visit("mean", mean), visit("variance", variance);
    visit("weight", weight), visit("bias", bias);
  }
};

/// The gradients of BatchNorm, given grad_out and its mean and variance. If these were computed from the rows
/// of x, the gradient also flows through them.
struct BatchNormGradient {
  static constexpr const char* name = "batch_norm_gradient";
  View grad_out, x;             ///< [rows, d]
  View mean, variance, weight;  ///< [1, d]
  View grad_x;                  ///< [rows, d], or empty
  View grad_weight, grad_bias;  ///< [1, d], or empty; added to
  double epsilon = 1e-5;
  bool use_batch_statistics = true;  ///< as in BatchNorm
  bool accumulate_x = false;         ///< add to grad_x instead of overwriting it

  void operands(auto&& visit) {
    visit("grad_out", grad_out), visit("x", x), visit("mean", mean), visit("variance", variance);
    visit("weight", weight), visit("grad_x", grad_x);
    visit("grad_weight", grad_weight), visit("grad_bias", grad_bias);
  }
};

/// out = softmax(scores) value for each span and head (section 3.2). Each head has a block of columns; `group`
/// heads of queries share a head of keys and values. The score of a query and a key is query key / sqrt(d_k),
/// or query key, or score_weight tanh(query + key), plus the distance bias. For a query without keys, out is 0
/// and logsumexp is -infinity.
///
/// The place of query j of n in a span is key_count - n + j: keys before it have smaller places.
struct Attention {
  static constexpr const char* name = "attention";
  static constexpr int32_t everywhere = std::numeric_limits<int32_t>::max();
  /// The bits of a query without a window do not depend on the other queries of its span, if these are at most
  /// this many in all, and likewise if they are more.
  static constexpr int few_queries = 8;
  /// [queries, heads * d_k], [keys, kv_heads * d_k], [keys, kv_heads * d_v]; key and value may both be bf16 if
  /// no gradient is needed.
  View query, key, value;
  View out;        ///< [queries, heads * d_v]
  View logsumexp;  ///< [queries, heads] or empty: log of the sum of exp(score - largest score)
  std::span<const AttentionSpan> spans;          ///< in host memory, for the size of a launch
  DeviceSpan<const AttentionSpan> device_spans;  ///< the same spans in the backend's memory, for the kernel
  DeviceSpan<const int32_t> key_rows;            ///< the row of each key place; empty: the identity
  int heads = 1;
  int group = 1;  ///< heads / kv_heads
  bool causal = false;
  int32_t window = everywhere;  ///< a query sees keys at most this many places away
  bool scaled = true;           ///< divide products by sqrt(d_k)
  View score_weight;            ///< [1, heads * d_k], or empty: scores are products
  View distance_bias;  ///< [2 n - 1, heads], or empty: row n - 1 + d is for keys d places after the query
  Dropout dropout;  ///< dropout of the weights, with position and sentence of the queries; see `weight_module`
  /// [heads * queries, largest number of keys] or empty: row head * queries + query holds the weights before
  /// dropout, one column for each key place of the span; other columns are zero.
  View weights;

  int kv_heads() const { return heads / group; }
  /// The largest number of keys of a span.
  int64_t max_keys() const { return sixfold::max_keys(spans); }
  void operands(auto&& visit) {
    visit("query", query), visit("key", key), visit("value", value), visit("out", out);
    visit("logsumexp", logsumexp), visit("device_spans", device_spans), visit("key_rows", key_rows);
    visit("score_weight", score_weight), visit("distance_bias", distance_bias), visit("weights", weights);
    dropout.operands(visit);
  }
};

/// The gradients of Attention. The weights are computed again from `logsumexp`.
struct AttentionGradient {
  static constexpr const char* name = "attention_gradient";
  Attention forward;  ///< with the `out` and `logsumexp` that it computed
  View grad_out;
  View grad_query, grad_key, grad_value;       ///< overwritten
  View grad_score_weight, grad_distance_bias;  ///< added to; the bias's is empty if it is constant

  void operands(auto&& visit) {
    forward.operands(visit);
    visit("grad_out", grad_out), visit("grad_query", grad_query);
    visit("grad_key", grad_key), visit("grad_value", grad_value);
    visit("grad_score_weight", grad_score_weight), visit("grad_distance_bias", grad_distance_bias);
  }
};

}  // namespace kernel

/// A reference to the struct of one kernel, which must outlive it.
class KernelCall {
 public:
  template <class Kernel>
  KernelCall(const Kernel& kernel) : kernel_(&kernel) {}
  /// Calls visitor(const kernel::X&) with the struct.
  template <class Visitor>
  void visit(Visitor&& visitor) const {
    std::visit([&](const auto* kernel) { visitor(*kernel); }, kernel_);
  }

 private:
  std::variant<const kernel::Fill*, const kernel::Matmul*, const kernel::ColumnSum*, const kernel::Add*,
               const kernel::Multiply*, const kernel::Scale*, const kernel::Rotate*,
               const kernel::PositionFeature*, const kernel::Swap*, const kernel::ApplyDropout*,
               const kernel::Activate*, const kernel::ActivateGradient*, const kernel::CopyRows*,
               const kernel::GatherRows*, const kernel::Embed*, const kernel::EmbedGradient*,
               const kernel::ResidualNorm*, const kernel::ResidualNormGradient*, const kernel::BatchNorm*,
               const kernel::BatchNormGradient*, const kernel::Attention*, const kernel::AttentionGradient*,
               const kernel::CrossEntropy*, const kernel::RDrop*, const kernel::Distillation*,
               const kernel::LinkLoss*, const kernel::ListedLogits*, const kernel::LogProbability*,
               const kernel::TopK*, const kernel::Adam*, const kernel::Sgd*, const kernel::Adafactor*,
               const kernel::Sum*, const kernel::BlockSquares*, const kernel::RecurrentStep*,
               const kernel::RecurrentStepGradient*, const kernel::LastRows*, const kernel::Gate*,
               const kernel::GateGradient*, const kernel::Unfold*, const kernel::Fold*,
               const kernel::Depthwise*, const kernel::DepthwiseWeightGradient*,
               const kernel::LinearRecurrence*, const kernel::LinearRecurrenceGradient*>
      kernel_;
};

}  // namespace sixfold
