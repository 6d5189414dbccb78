#pragma once
#include <memory>
#include <span>
#include <vector>

#include "autograd/context.h"

/// The ops: each checks shapes, computes, and records its backward. One .cc file for each. A tensor may have
/// several readers, whose gradients are added, and any operand may need none. Rows are tokens throughout;
/// tensors are [rows, features] of one dtype. A bias that is an empty tensor is none.
namespace sixfold::ops {

/// x [n, in] -> [n, out] = x weight^T + bias; weight [out, in], bias [1, out].
Tensor linear(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias);

/// The position-wise feed-forward network.
struct FeedForwardWeights {
  Tensor weight1, bias1;  ///< [d_ff, d_model], [1, d_ff]
  Tensor weight2, bias2;  ///< [d_model, d_ff], [1, d_model]
  Activation activation = Activation::relu;
};

/// Section 3.3, equation 2: x [n, d_model] -> dropout(activation(x W1^T + b1)) W2^T + b2 [n, d_model].
Tensor feed_forward(Context& context, const Tensor& x, const FeedForwardWeights& weights,
                    const Dropout& dropout = {});

/// What a row's embedding is made from.
struct Embedding {
  Tensor table;      ///< [vocab, d_model]
  Tensor positions;  ///< [longest, d_model], constant; or none
  double scale = 1;  ///< sqrt(d_model)
};

/// Sections 3.4, 3.5: dropout(table[ids] * scale + positions[rows.position]) [n, d_model]; ids from
/// `Context::indices`. A negative id stands for a row of zeros, one beyond the table for its last row.
Tensor embed(Context& context, const Embedding& embedding, const Tensor& ids, const TokenRows& rows,
             const Dropout& dropout = {});

/// dropout(x), where no other op can take it along.
Tensor dropout(Context& context, const Dropped& x);

/// a + b.
Tensor add(Context& context, const Tensor& a, const Tensor& b);

struct NormWeights {
  Tensor weight, bias;  ///< [1, d_model]
  double epsilon = 1e-5;
};

/// Section 3.1: LayerNorm(x + dropout(y)) [n, d_model].
Tensor residual_norm(Context& context, const Tensor& x, const Dropped& y, const NormWeights& norm);
/// The same in less memory: the sum is written over y's elements, so y must have no other reader. One whose
/// gradient comes back before this op's is an error.
Tensor residual_norm_in_place(Context& context, const Tensor& x, const Dropped& y, const NormWeights& norm);
/// LayerNorm(x).
Tensor norm(Context& context, const Tensor& x, const NormWeights& norm);

/// Which keys each query sees.
struct AttentionPattern {
  std::vector<AttentionSpan> spans;
  bool causal = false;
  Tensor key_rows;  ///< [1, places] i32, or none: the identity (training)
};

/// Spans over packed sequences: sequence i of the queries sees sequence i of the keys.
AttentionPattern attention_pattern(const Ragged& queries, const Ragged& keys, bool causal);

/// Section 3.2: query [q, heads * d_k], key [k, heads * d_k], value [k, heads * d_v] ->
/// softmax(query key^T / sqrt(d_k)) value [q, heads * d_v] in each head; dropout is of the weights.
struct AttentionInputs {
  Tensor query, key, value;
  int heads = 1;
};
Tensor attention(Context& context, const AttentionInputs& inputs,
                 std::shared_ptr<const AttentionPattern> pattern, const Dropout& dropout = {});
/// The weights themselves: [heads * q, most keys], row head * q + query; places beyond a query's keys are 0.
Tensor attention_weights(Context& context, const AttentionInputs& inputs, const AttentionPattern& pattern);

/// The projection of states to scores over the vocabulary.
struct OutputWeights {
  Tensor weight, bias;  ///< [vocab, d_model], [1, vocab] or none
};

struct LossOptions {
  double label_smoothing = 0;
  double scale = 1;  ///< of the gradients: one over the target tokens of the whole update
};

/// Section 5.4: the sum over rows of the label-smoothed cross entropy of states [n, d_model] against targets (n
/// ids of `Context::indices`), in chunks of rows, so that the logits never exist whole. Where the context
/// records, gradients are computed at once, chunk by chunk, while the logits are there, and added to those of
/// the states.
double cross_entropy(Context& context, const Tensor& states, const OutputWeights& output, const Tensor& targets,
                     const LossOptions& options);
/// log p(target) of each row, [n, 1], in chunks likewise.
Tensor log_probability(Context& context, const Tensor& states, const OutputWeights& output,
                       const Tensor& targets);
/// The logits whole, [n, vocab]: for tests and for looking at.
Tensor logits(Context& context, const Tensor& states, const OutputWeights& output);

/// The output layer of some of its symbols alone, in the order of `ids`, laid out for products without
/// gradients, in memory of its own.
OutputWeights select_outputs(const std::shared_ptr<Backend>& backend, const OutputWeights& output,
                             std::span<const int32_t> ids);

/// The k likeliest ids of each row, k at most the vocabulary, best first, and their log-probabilities.
struct Candidates {
  int k = 0;
  std::vector<int32_t> ids;      ///< [rows, k]
  std::vector<float> log_probs;  ///< [rows, k]
};
Candidates top_k(Context& context, const Tensor& states, const OutputWeights& output, int k,
                 std::span<const int32_t> banned);

}  // namespace sixfold::ops
