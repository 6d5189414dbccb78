#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backend/view.h"

namespace sixfold {

/// A weight in the layout that a backend multiplies fastest. Made by `Backend::pack`, understood by its
/// maker alone.
struct PackedWeight {
  explicit PackedWeight(DType type) : dtype(type) {}
  virtual ~PackedWeight() = default;
  DType dtype;  ///< of the weight that it was made from
};

/// What stands between the two linear maps of a feed-forward layer.
enum class Activation {
  relu,          ///< max(0, x)
  swish,         ///< x sigmoid(x)
  gelu,          ///< x Phi(x), Phi being the normal distribution's
  sigmoid_gelu,  ///< x sigmoid(1.702 x), an approximation of it
};

/// What a product does to its result while it is still in registers, in this order.
struct Epilogue {
  View bias;          ///< [1, cols]: added to every row
  bool relu = false;  ///< max(0, x)
  View relu_of;       ///< [rows, cols]: the result counts only where this is > 0 (the gradient of ReLU)
};

/// result [m, n] = op(a) [m, k] * op(b) [k, n], op being the transpose where asked. Each element is summed over
/// k in order, so that a row's bits depend neither on the rows beside it nor on threads.
///
/// Where `packed_b` was made from int8, each row of `a` is rounded to int8 too, its range, zero included,
/// being shared out among 256 numbers; the sums are exact in int32, and the scales come last: with neither
/// transpose_a, accumulate nor relu_of.
struct Matmul {
  View result, a, b;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;                 ///< the sum goes on from what `result` holds
  const PackedWeight* packed_b = nullptr;  ///< stands for `b`, made from it with the same transpose
  Epilogue epilogue = {};
};

/// Where dropout's random bits come from. Element (row, feature) is dropped when 16 bits of
/// Philox(counter = {feature / 8, position[row], sentence[row], module}, key = {seed, update}) are below
/// `threshold`; features 2j and 2j + 1 of a block of eight take the low and high half of word j.
struct Dropout {
  const int32_t* sentence = nullptr;  ///< [rows]
  const int32_t* position = nullptr;  ///< [rows]
  uint32_t seed = 0, update = 0, module = 0;
  uint32_t threshold = 0;  ///< probability * 65536; 0: keep everything

  explicit operator bool() const { return threshold != 0; }
  double keep_scale() const { return 65536.0 / (65536.0 - threshold); }
};

/// table [vocab, d], ids [rows] -> out [rows, d] = table[ids] * scale + positions[position]. A negative id
/// stands for a row of zeros, one beyond the table for its last row. A table in int8 gives what its rows count.
struct Embed {
  View out, table;
  const int32_t* ids = nullptr;
  const int32_t* position = nullptr;  ///< [rows]: row of `positions`
  View positions;                     ///< [longest, d], or empty: none
  double scale = 1;
  Dropout dropout;  ///< of the sum

  /// The table's row of out's row r; -1 for zeros.
  int64_t table_row(int64_t r) const { return std::min<int64_t>(ids[r], table.rows - 1); }
};

/// sum = x + dropout(y); out = (sum - mean) * rstd * weight + bias, over each row of d features.
struct ResidualNorm {
  View x, y;              ///< [rows, d]; y may be empty: a plain norm
  View sum;               ///< [rows, d] or empty: kept for the gradient; may be y's own memory
  View statistics;        ///< [rows, 2] mean and reciprocal standard deviation, or empty
  View weight, bias;      ///< [1, d]
  View out;               ///< [rows, d]
  double epsilon = 1e-5;  ///< added to the variance
  Dropout dropout;
};

struct ResidualNormGradient {
  View grad_out, sum, statistics, weight;
  View grad_x;                  ///< [rows, d], or empty
  View grad_y;                  ///< [rows, d], or empty
  View grad_weight, grad_bias;  ///< [1, d], or empty; added to
  bool accumulate_x = false;    ///< add to grad_x (grad_y is always written)
  Dropout dropout;
};

/// One sequence of queries and the keys it sees. In a causal span query j of n sees the keys up to
/// key_count - n + j.
struct AttentionSpan {
  int32_t query_begin, query_count;  ///< rows of `query` and `out`
  int32_t key_begin, key_count;  ///< places in `key_rows`, or rows of `key` and `value` where there are none
};

/// out = softmax(query key^T / sqrt(d_k)) value for each span and head (section 3.2). Heads are blocks of
/// columns. A query that sees no key gives zero, its logsumexp is -infinity.
struct Attention {
  View query, key, value;  ///< [queries, heads * d_k], [keys, heads * d_k], [keys, heads * d_v]
  View out;                ///< [queries, heads * d_v]
  View logsumexp;          ///< [queries, heads]: log of the sum of exp(score - largest score); may be empty
  std::span<const AttentionSpan> spans;
  const int32_t* key_rows = nullptr;  ///< the row of each key place; none: the identity
  int heads = 1;
  bool causal = false;
  Dropout dropout;  ///< of the weights; position and sentence are the queries'; see `weight_module`
  View weights;     ///< or empty: [heads * queries, most keys], row head * queries + query: the weights
                    ///< before dropout, one column for each key place of the span, the rest zero
};

struct AttentionGradient {
  Attention forward;  ///< its `out` and `logsumexp` as computed
  View grad_out;
  View grad_query, grad_key, grad_value;  ///< written
};

/// Dropout of attention weights draws for each head as for a module of its own.
inline uint32_t weight_module(const Dropout& dropout, int head) {
  return dropout.module + (static_cast<uint32_t>(head) << 20);
}

/// For each row of logits [rows, vocab]: loss = (1 - smoothing) * -log p(target) + smoothing * mean over all
/// -log p (section 5.4), written to losses [1, rows]; where `gradient`, the logits become d(loss * scale) /
/// d(logits).
struct CrossEntropy {
  View logits;
  const int32_t* targets = nullptr;
  View losses;
  double smoothing = 0, scale = 1;
  bool gradient = false;
};

/// Of each row of logits [rows, vocab] the k largest, best first (of equals the lower id), with their
/// log-probabilities.
struct TopK {
  View logits;
  int k = 1;
  int32_t* ids = nullptr;           ///< [rows, k]
  float* log_probs = nullptr;       ///< [rows, k]
  std::span<const int32_t> banned;  ///< ids that may not be chosen; they keep their share of the probability
                                    ///< (and come last, with -infinity, where k leaves no other)
};

/// One step of Adam (section 5.3) over flat arrays, with decoupled weight decay and a running mean of the
/// weights.
struct Adam {
  View weight, gradient, moment1, moment2;
  View average;  ///< or empty: average += (1 - average_decay) * (weight - average)
  double learning_rate, beta1, beta2, epsilon, weight_decay, average_decay;
  double gradient_scale = 1;  ///< clipping
  int64_t step = 1;           ///< from 1: the bias correction
};

/// The type that products of fp32 tensors are taken in.
enum class MatmulPrecision {
  fp32,
  bf16,  ///< both sides rounded, summed in fp32; small products stay in fp32. Bits are the same for any number
         ///< of threads, but a row's may depend on its neighbours.
};

/// Kernels over views in one kind of memory. Kernels neither allocate memory that lasts nor check what ops
/// check.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  virtual int threads() const = 0;

  virtual void* allocate(
      size_t bytes) = 0;  ///< aligned to 64 bytes; an environment error where there is no memory left
  virtual void free(void* data, size_t bytes) = 0;
  virtual void copy_in(void* to, const void* from_host, size_t bytes) = 0;
  virtual void copy_out(void* to_host, const void* from, size_t bytes) = 0;
  virtual void fill(View out, double value) = 0;

  /// Lays `b` out as the right side of products, in `memory` of `packed_bytes` where that is given, which
  /// must outlive the result. Int8, with its scales, is packed as the transposed right side only, and in
  /// memory of its own.
  virtual std::shared_ptr<PackedWeight> pack(View b, bool transpose_b, void* memory = nullptr) = 0;
  virtual size_t packed_bytes(View b, bool transpose_b) = 0;  ///< 0: it takes memory of its own
  virtual void matmul(const Matmul&) = 0;
  virtual void column_sum(View out, View x,
                          bool accumulate) = 0;                ///< out [1, d] = sum of the rows of x, in order
  virtual void add(View out, View a, View b) = 0;              ///< out may be a or b
  virtual void scale(View out, View a, double factor) = 0;     ///< out = a * factor
  virtual void dropout(View out, View x, const Dropout&) = 0;  ///< out may be x; its own gradient
  virtual void activate(View out, View x, Activation) = 0;     ///< out may be x
  /// grad_x = grad_out times the derivative at x; grad_x may be grad_out.
  virtual void activate_gradient(View grad_x, View grad_out, View x, Activation) = 0;
  virtual void copy_rows(View out, const int32_t* out_rows, View x) = 0;  ///< out[out_rows[r]] = x[r]
  /// out[r] = x[rows[r]], of any type, the scales of int8 with it.
  virtual void gather_rows(View out, View x, const int32_t* rows) = 0;
  virtual void embed(const Embed&) = 0;
  /// grad_table[ids[r]] += grad_out[r] * scale, dropped as the forward was; rows in order, those of zeros left
  /// out.
  virtual void embed_gradient(const Embed& forward, View grad_out, View grad_table) = 0;
  virtual void residual_norm(const ResidualNorm&) = 0;
  virtual void residual_norm_gradient(const ResidualNormGradient&) = 0;
  virtual void attention(const Attention&) = 0;
  virtual void attention_gradient(const AttentionGradient&) = 0;
  virtual void cross_entropy(const CrossEntropy&) = 0;
  /// out [1, rows] = log-probability of targets[r] under the softmax of logits row r.
  virtual void log_probability(View out, View logits, const int32_t* targets) = 0;
  virtual void top_k(const TopK&) = 0;
  virtual void adam(const Adam&) = 0;
  virtual double sum_of_squares(View x) = 0;  ///< in fp64, over fixed blocks in order
};

/// What the processor has of what the kernels use: "AVX3 vectors, bf16 by oneDNN, int8 by VNNI".
std::string describe_processor();

/// Plain single-threaded loops in fp32 and fp64: the specification.
std::unique_ptr<Backend> make_reference_backend();
/// fp32 on the processor's widest vectors, over `threads` threads. Throws an environment error where bf16 is
/// asked for and the processor has no such products.
std::unique_ptr<Backend> make_cpu_backend(int threads, MatmulPrecision products = MatmulPrecision::fp32);

}  // namespace sixfold
