#pragma once
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ops/ops.h"

// One case for each op. The gradient check, the agreement of the backends, the comparison with PyTorch, the
// packing test and the benchmark run over this table: an op that is added here is tested and timed.

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
  for (const auto& [name, of, rows, cols] : op.operands) {
    const int64_t height = of == RowsOf::tokens ? values.tokens.tokens()
                           : of == RowsOf::keys ? values.keys.tokens()
                                                : rows;
    values.operands[name] = HostMatrix::normal(height, cols, seed + values.operands.size());
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

inline std::vector<OpCase> linear_cases(const OpSizes& s) {
  const OpOperand x{"x", RowsOf::tokens, 0, s.d_model};
  const auto weight = [](const char* name, int64_t rows, int64_t cols) {
    return OpOperand{name, RowsOf::weight, rows, cols};
  };
  std::vector<OpCase> cases;
  cases.push_back({.name = "linear",
                   .operands = {x, weight("weight", s.d_ff, s.d_model), weight("bias", 1, s.d_ff)},
                   .run = [](Context& context,
                             const auto& a) { return ops::linear(context, a["x"], a["weight"], a["bias"]); },
                   .goldens = {"linear", "linear_large"}});
  cases.push_back(
      {.name = "linear_without_bias",
       .operands = {x, weight("weight", s.d_ff, s.d_model)},
       .run = [](Context& context, const auto& a) { return ops::linear(context, a["x"], a["weight"], {}); }});
  const std::pair<const char*, Activation> activations[] = {{"", Activation::relu},
                                                            {"_swish", Activation::swish},
                                                            {"_gelu", Activation::gelu},
                                                            {"_sigmoid_gelu", Activation::sigmoid_gelu},
                                                            {"_tanh_gelu", Activation::tanh_gelu},
                                                            {"_sigmoid", Activation::sigmoid}};
  for (const auto& [suffix, activation] : activations)
    for (const double dropout : {0.0, test_dropout})
      cases.push_back({.name = std::string("feed_forward") + suffix + (dropout > 0 ? "_dropped" : ""),
                       .operands = {x, weight("weight1", s.d_ff, s.d_model), weight("bias1", 1, s.d_ff),
                                    weight("weight2", s.d_model, s.d_ff), weight("bias2", 1, s.d_model)},
                       .run =
                           [dropout, kind = activation](Context& context, const auto& a) {
                             return ops::feed_forward(
                                 context, a["x"], {a["weight1"], a["bias1"], a["weight2"], a["bias2"], kind},
                                 context.dropout(dropout, a.rows));
                           },
                       .goldens = dropout > 0 ? std::vector<std::string>{}
                                              : std::vector<std::string>{
                                                    "feed_forward_" + std::string(name_of_enum(activation))}});
  const OpOperand gate = weight("gate_weight", s.d_ff, s.d_model), gate_bias = weight("gate_bias", 1, s.d_ff);
  const std::pair<const char*, Activation> gates[] = {
      {"glu", Activation::sigmoid}, {"geglu", Activation::gelu}, {"swiglu", Activation::swish}};
  for (const auto& [name, activation] : gates)
    for (const double dropout : {0.0, test_dropout})
      cases.push_back(
          {.name = std::string("feed_forward_") + name + (dropout > 0 ? "_dropped" : ""),
           .operands = {x, weight("weight1", s.d_ff, s.d_model), weight("bias1", 1, s.d_ff),
                        weight("weight2", s.d_model, s.d_ff), weight("bias2", 1, s.d_model), gate, gate_bias},
           .run =
               [dropout, kind = activation](Context& context, const auto& a) {
                 return ops::feed_forward(context, a["x"],
                                          {a["weight1"], a["bias1"], a["weight2"], a["bias2"], kind,
                                           a["gate_weight"], a["gate_bias"]},
                                          context.dropout(dropout, a.rows));
               },
           .goldens = dropout > 0 ? std::vector<std::string>{}
                                  : std::vector<std::string>{std::string("feed_forward_") + name}});
  cases.push_back(
      {.name = "feed_forward_without_biases",
       .operands = {x, weight("weight1", s.d_ff, s.d_model), weight("weight2", s.d_model, s.d_ff), gate},
       .run = [](Context& context, const auto& a) {
         return ops::feed_forward(
             context, a["x"], {a["weight1"], {}, a["weight2"], {}, Activation::swish, a["gate_weight"], {}});
       }});
  return cases;
}

inline std::vector<OpCase> elementwise_cases(const OpSizes& s) {
  const OpOperand x{"x", RowsOf::tokens, 0, s.d_model}, y{"y", RowsOf::tokens, 0, s.d_model};
  const OpOperand weight{"weight", RowsOf::weight, 1, s.d_model}, bias{"bias", RowsOf::weight, 1, s.d_model};
  std::vector<OpCase> cases;
  cases.push_back({.name = "add", .operands = {x, y}, .run = [](Context& context, const auto& a) {
                     return ops::add(context, a["x"], a["y"]);
                   }});
  cases.push_back({.name = "rotate",
                   .operands = {{"x", RowsOf::tokens, 0, s.heads * (s.d_k + s.d_k % 2)}},
                   .run =
                       [](Context& context, const auto& a) {
                         const int64_t d = a["x"].cols() / a.heads;
                         return ops::rotate(context, a["x"], test_positions(context, a.rows, d, a["x"].dtype()),
                                            a.rows);
                       },
                   .goldens = {"rotate"}});
  cases.push_back({.name = "dropout", .operands = {x}, .run = [](Context& context, const auto& a) {
                     return ops::dropout(context, {a["x"], context.dropout(test_dropout, a.rows)});
                   }});
  cases.push_back({.name = "norm",
                   .operands = {x, weight, bias},
                   .run =
                       [](Context& context, const auto& a) {
                         return ops::norm(context, a["x"], {a["weight"], a["bias"]});
                       },
                   .goldens = {"layer_norm", "layer_norm_large"}});
  cases.push_back({.name = "rms_norm",
                   .operands = {x, weight},
                   .run =
                       [](Context& context, const auto& a) {
                         return ops::norm(context, a["x"], {.weight = a["weight"], .centered = false});
                       },
                   .goldens = {"rms_norm", "rms_norm_large"}});
  cases.push_back({.name = "residual_rms_norm_dropped",
                   .operands = {x, y, weight},
                   .run = [](Context& context, const auto& a) {
                     return ops::residual_norm(context, a["x"], {a["y"], context.dropout(test_dropout, a.rows)},
                                               {.weight = a["weight"], .centered = false});
                   }});
  for (const double dropout : {0.0, test_dropout}) {
    cases.push_back({.name = dropout > 0 ? "residual_norm_dropped" : "residual_norm",
                     .operands = {x, y, weight, bias},
                     .run = [dropout](Context& context, const auto& a) {
                       return ops::residual_norm(context, a["x"], {a["y"], context.dropout(dropout, a.rows)},
                                                 {a["weight"], a["bias"]});
                     }});
    cases.push_back({.name = dropout > 0 ? "residual_norm_in_place_dropped" : "residual_norm_in_place",
                     .operands = {x, y, weight, bias},
                     .run = [dropout](Context& context, const auto& a) {
                       return ops::residual_norm_in_place(context, a["x"],
                                                          {a["y"], context.dropout(dropout, a.rows)},
                                                          {a["weight"], a["bias"]});
                     }});
    cases.push_back({.name = dropout > 0 ? "embed_dropped" : "embed",
                     .operands = {{"table", RowsOf::weight, s.vocab, s.d_model}},
                     .run = [dropout](Context& context, const auto& a) {
                       const Tensor& table = a["table"];
                       const double scale = std::sqrt(static_cast<double>(table.cols()));
                       const Tensor positions = test_positions(context, a.rows, table.cols(), table.dtype());
                       return ops::embed(context, {table, positions, scale}, a.ids, a.rows,
                                         context.dropout(dropout, a.rows));
                     }});
    if (dropout == 0) {
      for (const size_t back : {3, 2})
        cases[cases.size() - back].goldens = {"residual_norm", "residual_norm_large"};
      cases.back().goldens = {"embed"};
    }
  }
  return cases;
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

inline std::vector<OpCase> attention_cases(const OpSizes& s) {
  const auto operands = [&](RowsOf of) {
    return std::vector<OpOperand>{{"q", RowsOf::tokens, 0, s.heads * s.d_k},
                                  {"k", of, 0, s.heads * s.d_k},
                                  {"v", of, 0, s.heads * s.d_v}};
  };
  const auto inputs = [](const OpArguments& a) {
    return ops::AttentionInputs{a["q"], a["k"], a["v"], a.heads};
  };
  const auto pattern = [](Context& context, const OpArguments& a, bool causal) {
    return ops::attention_pattern(context, a.rows.ragged, causal ? a.rows.ragged : a.keys, causal);
  };
  std::vector<OpCase> cases;
  for (const bool causal : {false, true})
    for (const double dropout : {0.0, test_dropout}) {
      cases.push_back(
          {.name = std::string("attention") + (causal ? "_causal" : "") + (dropout > 0 ? "_dropped" : ""),
           .operands = operands(causal ? RowsOf::tokens : RowsOf::keys),
           .run = [=](Context& context, const auto& a) {
             return ops::attention(context, inputs(a), pattern(context, a, causal),
                                   context.dropout(dropout, a.rows));
           }});
      if (dropout == 0)
        cases.back().goldens = causal ? std::vector<std::string>{"attention_causal"}
                                      : std::vector<std::string>{"attention_cross", "attention_full",
                                                                 "attention_large", "worked_example"};
    }
  cases.push_back({.name = "attention_cached",
                   .operands = operands(RowsOf::keys),
                   .run =
                       [=](Context& context, const auto& a) {
                         for (const auto& [name, tensor] : a.operands) Tensor(tensor).set_requires_grad(false);
                         return ops::attention(context, inputs(a), cached_pattern(context, a));
                       },
                   .gradients = Gradients::none});
  for (const bool causal : {false, true})
    cases.push_back({.name = causal ? "attention_weights_causal" : "attention_weights",
                     .operands = operands(causal ? RowsOf::tokens : RowsOf::keys),
                     .run =
                         [=](Context& context, const auto& a) {
                           return ops::attention_weights(context, inputs(a), *pattern(context, a, causal));
                         },
                     .gradients = Gradients::none,
                     .row_by_row = false});
  return cases;
}

inline std::vector<OpCase> output_cases(const OpSizes& s) {
  const OpOperand x{"x", RowsOf::tokens, 0, s.d_model};
  const OpOperand weight{"weight", RowsOf::weight, s.vocab, s.d_model},
      bias{"bias", RowsOf::weight, 1, s.vocab};
  const auto loss = [](const std::string& name, double smoothing, std::vector<OpOperand> operands,
                       std::vector<std::string> goldens) {
    return OpCase{.name = name,
                  .operands = std::move(operands),
                  .run =
                      [smoothing](Context& context, const auto& a) {
                        const Tensor output_bias = a.operands.count("bias") ? a["bias"] : Tensor();
                        return ops::cross_entropy(context, a["x"], {a["weight"], output_bias}, a.ids,
                                                  {.label_smoothing = smoothing});
                      },
                  .gradients = Gradients::by_itself,
                  .row_by_row = false,
                  .goldens = std::move(goldens)};
  };
  std::vector<OpCase> cases;
  cases.push_back(loss("cross_entropy", 0.1, {x, weight}, {"cross_entropy", "cross_entropy_large"}));
  cases.push_back(loss("cross_entropy_plain", 0, {x, weight}, {"cross_entropy_plain"}));
  cases.push_back(loss("cross_entropy_with_bias", 0.1, {x, weight, bias}, {}));
  cases.push_back({.name = "log_probability",
                   .operands = {x, weight, bias},
                   .run =
                       [](Context& context, const auto& a) {
                         return ops::log_probability(context, a["x"], {a["weight"], a["bias"]}, a.ids);
                       },
                   .gradients = Gradients::none});
  cases.push_back({.name = "logits",
                   .operands = {x, weight, bias},
                   .run =
                       [](Context& context, const auto& a) {
                         return ops::logits(context, a["x"], {a["weight"], a["bias"]});
                       },
                   .gradients = Gradients::none});
  cases.push_back({.name = "top_k",
                   .operands = {x, weight, bias},
                   .run =
                       [](Context& context, const auto& a) {
                         const Tensor banned = context.indices(std::vector<int32_t>{1, 3});
                         const auto best = ops::top_k(context, a["x"], {a["weight"], a["bias"]}, 5, banned);
                         Tensor log_probs = context.tensor(a["x"].rows(), best.k, a["x"].dtype());
                         log_probs.copy_from(context.backend(), best.log_probs);
                         return log_probs;
                       },
                   .gradients = Gradients::none});
  return cases;
}

/// All of them.
inline std::vector<OpCase> op_cases(const OpSizes& sizes) {
  std::vector<OpCase> all;
  for (const auto& cases :
       {linear_cases(sizes), elementwise_cases(sizes), attention_cases(sizes), output_cases(sizes)})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace sixfold
