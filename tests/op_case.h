#pragma once
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "model/layers/architecture.h"
#include "ops/ops.h"

// What a case of an op is made of; see op_cases.h.

namespace sixfold {

/// A matrix on the host.
struct HostMatrix {
  int64_t rows = 0, cols = 0;
  std::vector<double> values;

  /// Standard normal numbers, each one that fp32 holds.
  static HostMatrix normal(int64_t rows, int64_t cols, uint64_t seed) {
    HostMatrix matrix{rows, cols, {}};
    RandomStream random(seed, 0);
    for (int64_t i = 0; i < rows * cols; ++i) matrix.values.push_back(static_cast<float>(random.normal()));
    return matrix;
  }
  HostMatrix slice_rows(int64_t begin, int64_t count) const {
    const auto first = values.begin() + begin * cols;
    return {count, cols, {first, first + count * cols}};
  }
  bool operator==(const HostMatrix&) const = default;
};

/// Sizes to make cases in.
struct OpSizes {
  std::vector<int> lengths;      ///< of the sequences, in tokens
  std::vector<int> key_lengths;  ///< of the sequences that these attend to
  int d_model, heads, d_k, d_v, d_ff, vocab;
};

/// For finite differences.
inline OpSizes small_sizes() {
  return {.lengths = {3, 1, 4},
          .key_lengths = {2, 5, 1},
          .d_model = 6,
          .heads = 2,
          .d_k = 4,
          .d_v = 3,
          .d_ff = 7,
          .vocab = 11};
}

/// Full and cut vectors, tiles and blocks; empty sequences; enough work for several threads.
inline OpSizes uneven_sizes() {
  return {.lengths = {1, 13, 47, 0, 48, 49, 120, 5, 211},
          .key_lengths = {7, 1, 64, 3, 49, 33, 17, 0, 211},
          .d_model = 70,
          .heads = 3,
          .d_k = 17,
          .d_v = 11,
          .d_ff = 133,
          .vocab = 517};
}

/// What the rows of an operand stand for.
enum class RowsOf { weight, tokens, keys };

struct OpOperand {
  std::string name;
  RowsOf of;
  int64_t rows;  ///< of a weight
  int64_t cols;
  double scale = 1;  ///< of the random values, a power of 2
};

/// Where the gradients come from.
enum class Gradients { by_tape, by_itself, none };

/// What an op is run on, on the host.
struct OpValues {
  std::map<std::string, HostMatrix> operands;
  Ragged tokens, keys;
  std::vector<int32_t> ids = {};        ///< one for each token
  std::vector<int32_t> sentences = {};  ///< numbers that key dropout; none: 0, 1, 2, ...
  int heads = 1;
  HostMatrix grad_output = {};  ///< none: drawn
};

/// The same in a backend's memory.
struct OpArguments {
  std::map<std::string, Tensor> operands;
  TokenRows rows;
  Ragged keys;
  Tensor ids;
  int heads = 1;

  const Tensor& operator[](const std::string& name) const { return operands.at(name); }
};

struct OpCase {
  std::string name;
  std::vector<OpOperand> operands;
  std::function<Tensor(Context&, const OpArguments&)> run;
  Gradients gradients = Gradients::by_tape;
  bool row_by_row = true;                 ///< the output has a row for each token
  bool composed = false;                  ///< of several ops, each with a backward function of its own
  std::vector<std::string> goldens = {};  ///< in tests/goldens/ops.safetensors, with the names of the operands
};

inline Ragged ragged_of(const std::vector<int>& lengths) {
  Ragged ragged;
  for (const int length : lengths) ragged.add(length);
  return ragged;
}

/// Random operands and ids for a case that was made in these sizes.
inline OpValues draw_values(const OpCase& op, const OpSizes& sizes, uint64_t seed) {
  OpValues values{.operands = {},
                  .tokens = ragged_of(sizes.lengths),
                  .keys = ragged_of(sizes.key_lengths),
                  .heads = sizes.heads};
  for (const OpOperand& operand : op.operands) {
    const int64_t height = operand.of == RowsOf::tokens ? values.tokens.tokens()
                           : operand.of == RowsOf::keys ? values.keys.tokens()
                                                        : operand.rows;
    HostMatrix drawn = HostMatrix::normal(height, operand.cols, seed + values.operands.size());
    for (double& value : drawn.values) value *= operand.scale;
    values.operands[operand.name] = std::move(drawn);
  }
  RandomStream random(seed, 1);
  for (int i = 0; i < values.tokens.tokens(); ++i)
    values.ids.push_back(static_cast<int32_t>(random.below(static_cast<uint32_t>(sizes.vocab))));
  return values;
}

inline Tensor tensor_of(const HostMatrix& matrix, Backend& backend, const std::shared_ptr<Memory>& memory,
                        DType dtype) {
  Tensor tensor(memory, matrix.rows, matrix.cols, dtype);
  tensor.copy_from(backend, matrix.values);
  return tensor;
}

/// Every operand is a tensor that gradients flow to.
inline OpArguments upload(const OpValues& values, Context& context, const std::shared_ptr<Memory>& memory,
                          DType dtype) {
  OpArguments arguments{.operands = {},
                        .rows = context.token_rows(values.tokens, values.sentences),
                        .keys = values.keys,
                        .ids = context.indices(values.ids),
                        .heads = values.heads};
  for (const auto& [name, matrix] : values.operands) {
    Tensor tensor = tensor_of(matrix, context.backend(), memory, dtype);
    tensor.set_requires_grad(true);
    arguments.operands[name] = tensor;
  }
  return arguments;
}

/// Section 3.5, made here once more: what a table of positions holds.
inline Tensor test_positions(Context& context, const TokenRows& rows, int64_t d_model, DType dtype) {
  HostMatrix table{rows.longest, d_model, {}};
  for (int64_t p = 0; p < rows.longest; ++p)
    for (int64_t i = 0; i < d_model; ++i) {
      const double angle = static_cast<double>(p) *
                           std::pow(10000.0, -static_cast<double>(i - i % 2) / static_cast<double>(d_model));
      table.values.push_back(i % 2 ? std::cos(angle) : std::sin(angle));
    }
  Tensor positions = context.tensor(table.rows, table.cols, dtype);
  positions.copy_from(context.backend(), table.values);
  return positions;
}

/// Probability of dropout in the cases that drop.
inline constexpr double test_dropout = 0.3;

/// Chooses a start and an end among the rows of each sequence but its first, which its ids name. Sequences
/// with fewer than two rows have no choice.
inline Tensor test_span_loss(Context& context, const OpArguments& a, double smoothing) {
  const std::vector<int32_t> ids = a.ids.to_host<int32_t>(context.backend());
  std::vector<RowRange> ranges;
  std::vector<int32_t> targets;
  for (int i = 0; i < a.rows.ragged.sequences(); ++i) {
    const int begin = a.rows.ragged.begin(i), rows = a.rows.ragged.length(i) - 1;
    if (rows < 1) continue;
    ranges.push_back({begin + 1, begin + 1 + rows});
    for (const int row : {begin, begin + 1}) targets.push_back(ids[static_cast<size_t>(row)] % rows);
  }
  return ops::span_loss(context, a["x"], a["weight"], {ranges, context.indices(targets)},
                        {.label_smoothing = smoothing});
}

/// Hypotheses that share the keys of their sentence, the keys lying in no order: what decoding looks like.
inline std::shared_ptr<const ops::AttentionPattern> cached_pattern(Context& context, const OpArguments& a) {
  std::vector<AttentionSpan> spans;
  std::vector<int32_t> rows;
  for (int i = 0; i < a.keys.sequences(); ++i) {
    const auto places = static_cast<int32_t>(rows.size());
    for (int j = a.keys.length(i); j-- > 0;) rows.push_back(a.keys.begin(i) + j);
    for (int q = 0; q < a.rows.ragged.length(i); ++q)
      spans.push_back({a.rows.ragged.begin(i) + q, 1, places, a.keys.length(i)});
  }
  return ops::attention_pattern(context, std::move(spans), /*causal=*/false, rows);
}

}  // namespace sixfold
