#pragma once
#include <memory>
#include <span>
#include <vector>

#include "ops/context.h"

/// The ops. Each op checks shapes, computes its result, and records its backward pass if the context records.
/// A tensor may be the operand of several ops, whose gradients are added, and any operand may be one that needs
/// no gradient. An op declares which tensors its backward function reads; no other op overwrites these to save
/// memory. Rows are tokens; tensors are [rows, features], of one dtype, in the backend's memory. An empty
/// tensor as bias means that there is no bias. A wrong shape throws an input error. Ops that return tensors do
/// not wait for the kernels.
namespace sixfold::ops {

/// A low-rank adapter of a weight W [out, in], which makes it W + scale * up down (Hu et al. 2021, "LoRA:
/// Low-Rank Adaptation of Large Language Models"). May be empty.
struct Adapter {
  Tensor down;  ///< [rank, in]
  Tensor up;    ///< [out, rank]
  double scale = 1;
  explicit operator bool() const { return static_cast<bool>(down); }
};

/// x [n, in] -> [n, out] = x weight^T + bias; weight [out, in], bias [1, out]. An adapter changes `weight`.
Tensor linear(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Adapter& adapter = {});

/// The weights of the position-wise feed-forward network. Biases may be empty.
struct FeedForwardWeights {
  Tensor weight1, bias1;  ///< [d_ff, d_model], [1, d_ff]
  Tensor weight2, bias2;  ///< [d_model, d_ff], [1, d_model]
  Activation activation = Activation::relu;
  Tensor gate_weight = {}, gate_bias = {};  ///< [d_ff, d_model], [1, d_ff]; or empty: there is no gate
  Adapter adapter1 = {}, adapter2 = {}, gate_adapter = {};  ///< of the weights
};

/// The feed-forward network (section 3.3, equation 2): x [n, d_model] -> dropout(activation(x W1^T + b1)) W2^T
/// + b2 [n, d_model]. With a gate it is dropout(activation(x G^T + g) * (x W1^T + b1)) W2^T + b2 (Shazeer
/// 2020).
Tensor feed_forward(Context& context, const Tensor& x, const FeedForwardWeights& weights,
                    const Dropout& dropout = {});

/// The tables from which embeddings are computed.
struct Embedding {
  Tensor table;      ///< [vocab, d_model]
  Tensor positions;  ///< [longest, d_model], constant; may be empty
  double scale = 1;  ///< sqrt(d_model)
};

/// Embeddings with their positions (sections 3.4 and 3.5): dropout(table[ids] * scale +
/// positions[rows.position]) [n, d_model]. `ids`: from `Context::indices`. A negative id gives a row of zeros;
/// an id beyond the table gives the table's last row.
Tensor embed(Context& context, const Embedding& embedding, const Tensor& ids, const TokenRows& rows,
             const Dropout& dropout = {});

/// dropout(x), for places where no other op can apply it.
Tensor dropout(Context& context, const PendingDropout& x);

/// x * factor.
Tensor scale(Context& context, const Tensor& x, double factor);

/// a + b.
Tensor add(Context& context, const Tensor& a, const Tensor& b);

/// Rotates pairs of features of each head by angles that grow with the position (Su et al. 2021): x [n, heads *
/// d], `angles` [longest, d] with the sines in features 2i and the cosines in features 2i + 1, constant. The
/// product of two rotated rows depends on their positions only by the distance between them.
Tensor rotate(Context& context, const Tensor& x, const Tensor& angles, const TokenRows& rows);

/// Replaces the last feature of each row of x [n, d] by the position of its token, counted from 1, or by that
/// position divided by `lengths`, [1, n] from `Context::indices`, if they are not empty.
Tensor position_feature(Context& context, const Tensor& x, const TokenRows& rows, const Tensor& lengths = {});

/// LayerNorm, or RMSNorm (Zhang and Sennrich 2019), which divides by the root of the mean of the squares and
/// neither subtracts the mean nor adds a bias.
struct NormWeights {
  Tensor weight, bias;  ///< [1, d]; the bias may be empty
  double epsilon = 1e-5;
  bool centered = true;  ///< LayerNorm; false: RMSNorm
};

/// The residual connection and the norm (section 3.1): norm(x + dropout(y)) [n, d_model]. The sum overwrites y
/// (`Context::overwrite`).
Tensor residual_norm(Context& context, const Tensor& x, const PendingDropout& y, const NormWeights& norm);
/// norm(x) of x [n, k * d]: each d features of a row are normalized alone, such as those of a head.
Tensor norm(Context& context, const Tensor& x, const NormWeights& norm);

/// The weights and buffers of a batch norm.
struct BatchNormWeights {
  Tensor weight, bias;                    ///< [1, d_model]
  Tensor running_mean, running_variance;  ///< [1, d_model], buffers
  double epsilon = 1e-5;
  double momentum = 0.1;  ///< share of a batch in the running averages
};

/// The mean and the variance by which a batch norm normalizes.
enum class Statistics {
  batch,    ///< those of the rows of x, through which gradients flow
  running,  ///< the buffers, which are constants
};

/// Normalizes each feature of x [n, d_model] by a mean and a variance over rows (Ioffe and Szegedy 2015). With
/// those of the batch, each row of the result depends on all rows of x. If the context records, the op then
/// defers the changes of the running averages (`Context::defer`); the buffers stay as they are. The running
/// variance is the unbiased one, for which the squares are divided by n - 1. Throws an input error if n is less
/// than 2.
Tensor batch_norm(Context& context, const Tensor& x, const BatchNormWeights& weights, Statistics statistics);

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
/// The same with `key_rows` [1, places] of another pattern, or empty.
std::shared_ptr<const AttentionPattern> attention_pattern(Context& context, std::vector<AttentionSpan> spans,
                                                          bool causal, const Tensor& key_rows);
/// Creates a pattern for packed sequences: sequence i of the queries attends to sequence i of the keys.
std::shared_ptr<const AttentionPattern> attention_pattern(Context& context, const Ragged& queries,
                                                          const Ragged& keys, bool causal);

/// The inputs of attention (section 3.2): query [q, heads * d_k], key [k, kv_heads * d_k], value [k, kv_heads *
/// d_v] -> softmax(scores) value [q, heads * d_v] in each head, where the scores are query key^T / sqrt(d_k).
/// If `kv_heads` is smaller than `heads`, head h uses keys and values of head h / (heads / kv_heads) (Ainslie
/// et al. 2023). Dropout applies to the attention weights.
struct AttentionInputs {
  Tensor query, key, value;
  int heads = 1;
  int kv_heads = 0;                            ///< 0: `heads`
  int window = kernel::Attention::everywhere;  ///< a query attends to keys at most this many places away
  bool scaled = true;                          ///< divide products by sqrt(d_k)
  /// [1, heads * d_k], or empty: the score is score_weight tanh(query + key) (Bahdanau et al. 2015).
  Tensor score_weight = {};
  /// [2 n - 1, heads], or empty: row n - 1 + d is added to the scores of keys that are d places after the
  /// query. n must be at least the largest number of keys.
  Tensor distance_bias = {};
};
Tensor attention(Context& context, const AttentionInputs& inputs,
                 std::shared_ptr<const AttentionPattern> pattern, const Dropout& dropout = {});
/// Returns the attention weights: [heads * q, largest number of keys]. Row head * q + query holds the weights
/// of that query; columns beyond its keys are 0.
Tensor attention_weights(Context& context, const AttentionInputs& inputs, const AttentionPattern& pattern);
/// Returns the losses of guided alignment, [1, q]: the attention weights of `inputs` should follow
/// `target_weights`, [q, largest number of keys] (`kernel::LinkLoss`). They are multiplied by `factor`. If the
/// context records, the gradients of their sum times `scale` are computed at once and added to those of queries
/// and keys. Dropout and `inputs.value` are not used.
Tensor link_loss(Context& context, const AttentionInputs& inputs, const AttentionPattern& pattern,
                 const Tensor& target_weights, double factor, double scale);

/// activation(x).
Tensor activate(Context& context, const Tensor& x, Activation activation);

/// The rows of a [n, d_a] and b [n, d_b] side by side: [n, d_a + d_b].
Tensor concatenate(Context& context, const Tensor& a, const Tensor& b);

/// The gated linear unit (Dauphin et al. 2017): x [n, 2 d] -> the first d columns times the sigmoid of the
/// others.
Tensor glu(Context& context, const Tensor& x);

/// a * sigmoid(g) + b * sigmoid(h), where g and h are the first and the other columns of gates [n, 2 d]; a and
/// b are [n, d].
Tensor gated_sum(Context& context, const Tensor& gates, const Tensor& a, const Tensor& b);

/// The tokens that an output of a convolution reads: for a token at place p of its sequence the places p -
/// left, p - left + 1, ..., p - left + size - 1. Places outside of the sequence count as zeros.
struct Window {
  int size = 1;
  int left = 0;  ///< from 0 to size - 1
};

/// x [keys, d] -> [queries, size * d]: the rows of x in the window of each query of the pattern, side by side.
/// A linear map of the result is a convolution (Gehring et al. 2017). Place j of n queries in a span is
/// key_count - n + j. Gradients need whole sequences: spans whose queries are their keys.
Tensor unfold(Context& context, const Tensor& x, const Window& window,
              std::shared_ptr<const AttentionPattern> pattern);

/// The weights of a depthwise convolution, which has a separate filter for each feature.
struct DepthwiseWeights {
  Tensor weight, bias;  ///< [size, d], [1, d]; the bias may be empty
  int left = 0;         ///< as in `Window`
};

/// x [keys, d] -> [queries, d]: bias + the sum over o of weight[o] * x at place p - left + o, feature by
/// feature (Chollet 2017). Places and gradients as in `unfold`.
Tensor depthwise(Context& context, const Tensor& x, const DepthwiseWeights& weights,
                 std::shared_ptr<const AttentionPattern> pattern);

/// The states of a recurrence from which the new tokens of each sequence continue.
struct InitialStates {
  Tensor rows;  ///< [rows, d], or empty if no sequence has earlier tokens
  /// The queries of a span are the new tokens of a sequence. Its last key is the state before them; a span
  /// without keys begins with zeros. Gradients need spans without keys.
  std::shared_ptr<const AttentionPattern> pattern;
};

/// c [tokens, d] with c_t = f_t c_{t-1} + (1 - f_t) value_t, feature by feature along each sequence, where f =
/// sigmoid(gate) (Kim et al. 2019). With an empty gate, f is p / (p + 1) for the token at position p, so that
/// c_t is the average of the values so far (Zhang et al. 2018).
Tensor linear_recurrence(Context& context, const Tensor& value, const Tensor& gate, const TokenRows& rows,
                         const InitialStates& before);

/// Returns some rows of x [n, d], in any order: row r of the result is row from[r] of x, or of
/// zeros if from[r] is -1. `inverse` has the row of the result that each row of x becomes, or -1; no row
/// becomes two. Both are from `Context::indices`. If they are empty, returns x.
Tensor gather_rows(Context& context, const Tensor& x, const Tensor& from, const Tensor& inverse);
/// Returns rows [begin, begin + count) of x.
Tensor slice_rows(Context& context, const Tensor& x, int64_t begin, int64_t count);
/// Returns the rows of all parts, one below the other. There must be at least one part.
Tensor join_rows(Context& context, std::span<const Tensor> parts);

/// The order in which recurrent cells process a packed batch: step by step, and within a step sequence by
/// sequence, the longest sequence first. Therefore the sequences of a step are the first ones of the step
/// before, and those that have ended were the last.
struct TimeSteps {
  std::vector<int64_t> begin{0};  ///< step t has rows [begin[t], begin[t + 1]) of this order
  std::vector<int32_t> order;     ///< the sequences, longest first
  int64_t sequences = 0;
  Tensor from_packed;  ///< [1, rows] i32: the packed row of each row of this order; empty if both are the same
  Tensor to_packed;    ///< [1, rows] i32: the inverse; empty likewise

  size_t steps() const { return begin.size() - 1; }
  int64_t count(size_t t) const { return begin[t + 1] - begin[t]; }
};
/// `reverse`: the steps go from the last token of each sequence to the first.
std::shared_ptr<const TimeSteps> time_steps(Context& context, const Ragged& rows, bool reverse);

/// Returns [spans, cols]: the row of x at the last key place of each span of `pattern`, zeros for spans without
/// keys; an empty tensor if no span has a key. It needs no gradient.
Tensor last_rows(Context& context, const Tensor& x, const AttentionPattern& pattern, int64_t cols, DType dtype);

/// A recurrent cell over the sequences of a batch; see `RecurrentCell` for the formulas. Rows are those of the
/// packed batch.
struct RecurrentInputs {
  RecurrentCell cell = RecurrentCell::lstm;
  Tensor gates;                    ///< [rows, gates * d]: the products of the inputs, with their bias
  Tensor weight;                   ///< [gates * d, d]: of the products of the previous states
  Tensor bias = {};                ///< [1, 3 d] for gru: added to the products of the previous states
  Tensor state = {}, memory = {};  ///< [sequences, d]: the states before, in `steps->order`; empty: zeros
  std::shared_ptr<const TimeSteps> steps;
};
struct RecurrentOutputs {
  Tensor state;   ///< [rows, d]: h
  Tensor memory;  ///< [rows, d] for lstm: c, which passes no gradient on; else empty
};
/// Runs a cell through all steps. One step is computed for all sequences together; backward through time is one
/// op. The activations overwrite `gates` (`Context::overwrite`).
RecurrentOutputs recurrent(Context& context, const RecurrentInputs& inputs);

/// The projection of states to logits over the vocabulary.
struct OutputWeights {
  Tensor weight, bias;  ///< [vocab, d_model], [1, vocab]; the bias may be empty
};

/// The teacher of a distillation: its states for the rows whose loss is computed, and the weight of the loss.
struct Teacher {
  Tensor states;           ///< [n, d_model of the teacher]
  OutputWeights output;    ///< its output layer, for the same vocabulary
  double weight = 0;       ///< factor of the loss (`kernel::Distillation`); 0: there is no teacher
  double temperature = 1;  ///< divides the logits of both models; the loss is multiplied by its square
};

struct LossOptions {
  double label_smoothing = 0;
  double scale = 1;        ///< factor of the gradients: 1 / loss weight of the update
  Tensor weights = {};     ///< [1, n] f32: factors of the rows' losses; empty: 1
  double r_drop = 0;       ///< alpha of R-Drop (`kernel::RDrop`)
  Tensor second = {};      ///< [n, d_model]: the states of the second pass of R-Drop; empty: there is none
  double link_weight = 0;  ///< factor of the loss of guided alignment (`kernel::LinkLoss`)
  Teacher teacher = {};
};

/// The training loss (section 5.4): the sum over rows of the label-smoothed cross entropy of states [n,
/// d_model] against targets (n ids from `Context::indices`): [1, 1] f64. It is computed in chunks of rows, so
/// that the logits are never all in memory. If the context records, the gradients are computed at once for each
/// chunk, while its logits are in memory, and added to those of the states. With `options.second` it is the
/// loss of R-Drop of both passes. With a teacher, the loss of distillation is added for each pass.
Tensor cross_entropy(Context& context, const Tensor& states, const OutputWeights& output, const Tensor& targets,
                     const LossOptions& options);

/// Selections of one row from a range, such as the rows where an answer starts and ends.
struct RowChoices {
  std::span<const RowRange> ranges;  ///< the ranges from which rows are selected: in ascending order, not empty
  Tensor targets;  ///< [1, ranges * kinds] i32: for each range the row of each kind, counted from its first
};
/// Returns the sum of the label-smoothed cross entropies of selecting rows of states [n, d_model]: [1, 1] f64.
/// weight [kinds, d_model] scores the rows, and the softmax is over the rows of one range (Devlin et al. 2019,
/// section 4.2, whose kinds are start and end). Gradients are computed as by `cross_entropy`. Weights of the
/// losses in `options` are not used, and a second pass or a teacher is an input error.
Tensor span_loss(Context& context, const Tensor& states, const Tensor& weight, const RowChoices& choices,
                 const LossOptions& options);

/// Returns log p(target) of each row, [n, 1]. It is also computed in chunks.
Tensor log_probability(Context& context, const Tensor& states, const OutputWeights& output,
                       const Tensor& targets);
/// Returns all logits, [n, vocab]; for tests and inspection.
Tensor logits(Context& context, const Tensor& states, const OutputWeights& output);

/// Returns the output layer restricted to the tokens `ids` (in host memory), in their order. Its weights are
/// copies, packed for products without gradients.
OutputWeights select_outputs(const std::shared_ptr<Backend>& backend, const OutputWeights& output,
                             std::span<const int32_t> ids);

/// Adjacent rows of states, and the tokens that may come after them, in host memory.
struct ListedRows {
  int64_t rows = 0;
  std::span<const int32_t> ids;      ///< of the tokens, in ascending order
  std::vector<int32_t> banned = {};  ///< places in `ids` of tokens that are not chosen
};

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
/// The same for rows that may each be followed by few tokens, of an output layer in int8 whose elements are in
/// memory. `lists` are of all rows, in order. `ids` of the result are places in the row's list; those beyond
/// the end of a shorter list are undefined.
Candidates top_k_listed(Context& context, const Tensor& states, const OutputWeights& output, int k,
                        std::span<const ListedRows> lists);

}  // namespace sixfold::ops
