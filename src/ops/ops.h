#pragma once
#include <memory>
#include <span>
#include <vector>

#include "autograd/context.h"

/// The ops. Each op checks shapes, computes its result, and records its backward pass if the context records.
/// Each has a .cc file of its own. A tensor may be the operand of several ops, whose gradients are added, and
/// any operand may be one that needs no gradient. Rows are tokens; tensors are [rows, features], of one dtype,
/// in the backend's memory. An empty tensor as bias means that there is no bias. A wrong shape throws an input
/// error. Ops that return tensors do not wait for the kernels.
namespace sixfold::ops {

/// x [n, in] -> [n, out] = x weight^T + bias; weight [out, in], bias [1, out].
Tensor linear(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias);

/// The weights of the position-wise feed-forward network. Biases may be empty.
struct FeedForwardWeights {
  Tensor weight1, bias1;  ///< [d_ff, d_model], [1, d_ff]
  Tensor weight2, bias2;  ///< [d_model, d_ff], [1, d_model]
  Activation activation = Activation::relu;
  Tensor gate_weight = {}, gate_bias = {};  ///< [d_ff, d_model], [1, d_ff]; or empty: there is no gate
};

/// Section 3.3, equation 2: x [n, d_model] -> dropout(activation(x W1^T + b1)) W2^T + b2 [n, d_model]. With a
/// gate it is dropout(activation(x G^T + g) * (x W1^T + b1)) W2^T + b2 (Shazeer 2020).
Tensor feed_forward(Context& context, const Tensor& x, const FeedForwardWeights& weights,
                    const Dropout& dropout = {});

/// The tables from which embeddings are computed.
struct Embedding {
  Tensor table;      ///< [vocab, d_model]
  Tensor positions;  ///< [longest, d_model], constant; may be empty
  double scale = 1;  ///< sqrt(d_model)
};

/// Sections 3.4, 3.5: dropout(table[ids] * scale + positions[rows.position]) [n, d_model]. `ids`: from
/// `Context::indices`. A negative id gives a row of zeros; an id beyond the table gives the table's last row.
Tensor embed(Context& context, const Embedding& embedding, const Tensor& ids, const TokenRows& rows,
             const Dropout& dropout = {});

/// dropout(x), for places where no other op can apply it.
Tensor dropout(Context& context, const Dropped& x);

/// a + b.
Tensor add(Context& context, const Tensor& a, const Tensor& b);

/// Rotates pairs of features of each head by angles that grow with the position (Su et al. 2021): x [n, heads *
/// d], `angles` [longest, d] with the sines in features 2i and the cosines in features 2i + 1, constant. The
/// product of two rotated rows depends on their positions only by the distance between them.
Tensor rotate(Context& context, const Tensor& x, const Tensor& angles, const TokenRows& rows);

/// LayerNorm, or RMSNorm (Zhang and Sennrich 2019), which divides by the root of the mean of the squares and
/// neither subtracts the mean nor adds a bias.
struct NormWeights {
  Tensor weight, bias;  ///< [1, d_model]; the bias may be empty
  double epsilon = 1e-5;
  bool centered = true;  ///< LayerNorm; false: RMSNorm
};

/// Section 3.1: norm(x + dropout(y)) [n, d_model].
Tensor residual_norm(Context& context, const Tensor& x, const Dropped& y, const NormWeights& norm);
/// The same, but the sum overwrites the elements of y to save memory. No other op may read y: if another op's
/// gradient reaches y first, backward throws an error.
Tensor residual_norm_in_place(Context& context, const Tensor& x, const Dropped& y, const NormWeights& norm);
/// norm(x).
Tensor norm(Context& context, const Tensor& x, const NormWeights& norm);

/// The keys that each query attends to. A pattern is created once and shared by all layers.
struct AttentionPattern {
  std::vector<AttentionSpan> spans;
  bool causal = false;
  Tensor key_rows;        ///< [1, places] i32, or empty: the identity (in training)
  Tensor uploaded_spans;  ///< [spans, 4] i32, the spans in the backend's memory; empty if that is host memory

  /// The spans in the memory that kernels read. Valid as long as the pattern.
  DeviceSpan<const AttentionSpan> on_device() const;
};

/// Creates a pattern. `key_rows`: the row of each key place; empty: the identity.
std::shared_ptr<const AttentionPattern> attention_pattern(Context& context, std::vector<AttentionSpan> spans,
                                                          bool causal, std::span<const int32_t> key_rows = {});
/// Creates a pattern for packed sequences: sequence i of the queries attends to sequence i of the keys.
std::shared_ptr<const AttentionPattern> attention_pattern(Context& context, const Ragged& queries,
                                                          const Ragged& keys, bool causal);

/// Section 3.2: query [q, heads * d_k], key [k, heads * d_k], value [k, heads * d_v] -> softmax(query key^T /
/// sqrt(d_k)) value [q, heads * d_v] in each head. Dropout applies to the attention weights.
struct AttentionInputs {
  Tensor query, key, value;
  int heads = 1;
};
Tensor attention(Context& context, const AttentionInputs& inputs,
                 std::shared_ptr<const AttentionPattern> pattern, const Dropout& dropout = {});
/// Returns the attention weights: [heads * q, largest number of keys]. Row head * q + query holds the weights
/// of that query; columns beyond its keys are 0.
Tensor attention_weights(Context& context, const AttentionInputs& inputs, const AttentionPattern& pattern);

/// The projection of states to logits over the vocabulary.
struct OutputWeights {
  Tensor weight, bias;  ///< [vocab, d_model], [1, vocab]; the bias may be empty
};

struct LossOptions {
  double label_smoothing = 0;
  double scale = 1;  ///< factor of the gradients: 1 / number of target tokens of the update
};

/// Section 5.4: the sum over rows of the label-smoothed cross entropy of states [n, d_model] against targets (n
/// ids from `Context::indices`): [1, 1] f64. It is computed in chunks of rows, so that the logits are never all
/// in memory. If the context records, the gradients are computed at once for each chunk, while its logits are
/// in memory, and added to those of the states.
Tensor cross_entropy(Context& context, const Tensor& states, const OutputWeights& output, const Tensor& targets,
                     const LossOptions& options);
/// Returns log p(target) of each row, [n, 1], also computed in chunks.
Tensor log_probability(Context& context, const Tensor& states, const OutputWeights& output,
                       const Tensor& targets);
/// Returns all logits, [n, vocab]; for tests and inspection.
Tensor logits(Context& context, const Tensor& states, const OutputWeights& output);

/// Returns the output layer restricted to the tokens `ids` (host), in their order. Its weights are in memory of
/// their own and packed for products without gradients.
OutputWeights select_outputs(const std::shared_ptr<Backend>& backend, const OutputWeights& output,
                             std::span<const int32_t> ids);

/// The k most probable ids of each row, best first, with their log-probabilities. In host memory.
struct Candidates {
  int k = 0;
  std::vector<int32_t> ids;      ///< [rows, k]
  std::vector<float> log_probs;  ///< [rows, k]
};
/// Returns the k most probable ids of each row; 1 <= k <= vocab. `banned`: ids that are not chosen, [1, n] i32,
/// may be empty. Waits for the kernels.
Candidates top_k(Context& context, const Tensor& states, const OutputWeights& output, int k,
                 const Tensor& banned);

}  // namespace sixfold::ops
