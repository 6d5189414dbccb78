#pragma once
#include <string>
#include <utility>
#include <vector>

#include "model/layers/architecture.h"
#include "op_case.h"
#include "op_cases_mixers.h"
#include "op_cases_output.h"

// One case for each op. The gradient check, the agreement of the backends, the comparison with PyTorch, the
// packing test and the benchmark run over this table: an op that is added here is tested and timed.

namespace sixfold {

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
  constexpr int64_t rank = 3;
  constexpr double scale = 0.75;
  const OpOperand down = weight("down", rank, s.d_model), up = weight("up", s.d_ff, rank),
                  down2 = weight("down2", rank, s.d_ff), up2 = weight("up2", s.d_model, rank),
                  gate_down = weight("gate_down", rank, s.d_model), gate_up = weight("gate_up", s.d_ff, rank);
  cases.push_back(
      {.name = "linear_adapted",
       .operands = {x, weight("weight", s.d_ff, s.d_model), weight("bias", 1, s.d_ff), down, up},
       .run =
           [](Context& context, const auto& a) {
             return ops::linear(context, a["x"], a["weight"], a["bias"], {a["down"], a["up"], scale});
           },
       .goldens = {"linear_adapted"}});
  for (const bool gated : {false, true}) {
    std::vector<OpOperand> operands{
        x, weight("weight1", s.d_ff, s.d_model), weight("weight2", s.d_model, s.d_ff), down, up, down2, up2};
    if (gated)
      for (const OpOperand& more : {weight("gate_weight", s.d_ff, s.d_model), gate_down, gate_up})
        operands.push_back(more);
    cases.push_back({.name = std::string("feed_forward_adapted") + (gated ? "_gated" : ""),
                     .operands = operands,
                     .run = [gated](Context& context, const auto& a) {
                       ops::FeedForwardWeights w{.weight1 = a["weight1"],
                                                 .bias1 = {},
                                                 .weight2 = a["weight2"],
                                                 .bias2 = {},
                                                 .activation = gated ? Activation::swish : Activation::relu,
                                                 .adapter1 = {a["down"], a["up"], scale},
                                                 .adapter2 = {a["down2"], a["up2"], scale}};
                       if (gated) {
                         w.gate_weight = a["gate_weight"];
                         w.gate_adapter = {a["gate_down"], a["gate_up"], scale};
                       }
                       return ops::feed_forward(context, a["x"], w, context.dropout(test_dropout, a.rows));
                     }});
  }
  const std::pair<const char*, Activation> activations[] = {{"", Activation::relu},
                                                            {"_swish", Activation::swish},
                                                            {"_gelu", Activation::gelu},
                                                            {"_sigmoid_gelu", Activation::sigmoid_gelu},
                                                            {"_tanh_gelu", Activation::tanh_gelu},
                                                            {"_sigmoid", Activation::sigmoid},
                                                            {"_tanh", Activation::tanh}};
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
  for (const bool relative : {false, true})
    cases.push_back({.name = relative ? "position_feature_relative" : "position_feature",
                     .operands = {x},
                     .run =
                         [relative](Context& context, const auto& a) {
                           const Ragged& rows = a.rows.ragged;
                           std::vector<int32_t> lengths;
                           for (int i = 0; relative && i < rows.sequences(); ++i)
                             lengths.insert(lengths.end(), static_cast<size_t>(rows.length(i)), rows.length(i));
                           return ops::position_feature(context, a["x"], a.rows,
                                                        relative ? context.indices(lengths) : Tensor());
                         },
                     .goldens = {relative ? "position_feature_relative" : "position_feature"}});
  cases.push_back({.name = "gather_rows",
                   .operands = {x},
                   .run =
                       [](Context& context, const auto& a) {
                         std::vector<int32_t> from, inverse(static_cast<size_t>(a["x"].rows()), -1);
                         for (auto row = static_cast<int32_t>(a["x"].rows() - 1); row >= 0; --row) {
                           if (row % 3 != 0) continue;
                           inverse[static_cast<size_t>(row)] = static_cast<int32_t>(from.size());
                           from.push_back(row);
                         }
                         return ops::gather_rows(context, a["x"], context.indices(from),
                                                 context.indices(inverse));
                       },
                   .row_by_row = false,
                   .goldens = {"gather_rows"}});
  // Each second row, and rows of zeros between them.
  cases.push_back({.name = "gather_rows_and_zeros",
                   .operands = {x},
                   .run =
                       [](Context& context, const auto& a) {
                         std::vector<int32_t> from, inverse(static_cast<size_t>(a["x"].rows()), -1);
                         for (int32_t row = 0; row < static_cast<int32_t>(a["x"].rows()); row += 2) {
                           from.push_back(-1);
                           inverse[static_cast<size_t>(row)] = static_cast<int32_t>(from.size());
                           from.push_back(row);
                         }
                         return ops::gather_rows(context, a["x"], context.indices(from),
                                                 context.indices(inverse));
                       },
                   .row_by_row = false});
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
  cases.push_back(
      {.name = "rms_norm_of_heads",
       .operands = {{"states", RowsOf::tokens, 0, s.heads * s.d_k}, {"head_weight", RowsOf::weight, 1, s.d_k}},
       .run =
           [](Context& context, const auto& a) {
             return ops::norm(context, a["states"], {.weight = a["head_weight"], .centered = false});
           },
       .goldens = {"rms_norm_of_heads"}});
  cases.push_back({.name = "scale",
                   .operands = {x},
                   .run = [](Context& context, const auto& a) { return ops::scale(context, a["x"], 0.125); },
                   .goldens = {"scale"}});
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
      cases[cases.size() - 2].goldens = {"residual_norm", "residual_norm_large"};
      cases.back().goldens = {"embed"};
    }
  }
  return cases;
}

/// Two keys for each query, chosen by its id, or one if they are the same: the losses of all queries.
inline Tensor test_link_loss(Context& context, const OpArguments& a) {
  const auto pattern = ops::attention_pattern(context, a.rows.ragged, a.keys, /*causal=*/false);
  const std::vector<int32_t> ids = a.ids.to_host<int32_t>(context.backend());
  const int64_t most = max_keys(pattern->spans);
  std::vector<float> wanted(ids.size() * static_cast<size_t>(most));
  for (const AttentionSpan& span : pattern->spans)
    for (int q = span.query_begin; span.key_count > 0 && q < span.query_begin + span.query_count; ++q) {
      const int32_t id = ids[static_cast<size_t>(q)], first = id % span.key_count,
                    second = id / 2 % span.key_count;
      for (const int32_t key : {first, second})
        wanted[static_cast<size_t>(q * most + key)] = first == second ? 1.0f : 0.5f;
    }
  const DType dtype = a["q"].dtype();
  const Tensor losses = ops::link_loss(context, {a["q"], a["k"], {}, a.heads}, *pattern,
                                       context.matrix(wanted, std::ssize(ids), most, dtype), 1, 1);
  Tensor sum = context.tensor(1, 1, DType::f64);
  context.backend().run(kernel::Sum{sum.view(), losses.view()});
  return sum;
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
  cases.push_back(
      {.name = "link_loss",
       .operands = {{"q", RowsOf::tokens, 0, s.heads * s.d_k}, {"k", RowsOf::keys, 0, s.heads * s.d_k}},
       .run = test_link_loss,
       .gradients = Gradients::by_itself,
       .row_by_row = false,
       .goldens = {"link_loss"}});
  return cases;
}

/// A row in which feature i is first + i * step.
inline Tensor rising_row(Context& context, int64_t cols, DType dtype, double first, double step) {
  Tensor row = context.tensor(1, cols, dtype);
  std::vector<double> values;
  for (int64_t i = 0; i < cols; ++i) values.push_back(first + static_cast<double>(i) * step);
  row.copy_from(context.backend(), values);
  return row;
}

inline std::vector<OpCase> batch_norm_cases(const OpSizes& s) {
  const OpOperand weight{"weight", RowsOf::weight, 1, s.d_model}, bias{"bias", RowsOf::weight, 1, s.d_model};
  const auto run = [](ops::Statistics statistics) {
    return [statistics](Context& context, const OpArguments& a) {
      const int64_t cols = a["x"].cols();
      const DType dtype = a["x"].dtype();
      return ops::batch_norm(context, a["x"],
                             {.weight = a["weight"],
                              .bias = a["bias"],
                              .running_mean = rising_row(context, cols, dtype, -0.25, 0.125),
                              .running_variance = rising_row(context, cols, dtype, 0.5, 0.25)},
                             statistics);
    };
  };
  std::vector<OpCase> cases;
  cases.push_back({.name = "batch_norm",
                   .operands = {{"x", RowsOf::tokens, 0, s.d_model}, weight, bias},
                   .run = run(ops::Statistics::batch),
                   .row_by_row = false,
                   .goldens = {"batch_norm", "batch_norm_large"}});
  cases.push_back({.name = "batch_norm_running",
                   .operands = {{"x", RowsOf::tokens, 0, s.d_model}, weight, bias},
                   .run = run(ops::Statistics::running),
                   .goldens = {"batch_norm_running"}});
  return cases;
}

/// All of them.
inline std::vector<OpCase> op_cases(const OpSizes& sizes) {
  std::vector<OpCase> all;
  for (const auto& cases :
       {linear_cases(sizes), elementwise_cases(sizes), attention_cases(sizes), output_cases(sizes),
        attention_variant_cases(sizes), recurrent_cases(sizes), gate_cases(sizes), convolution_cases(sizes),
        linear_recurrence_cases(sizes), batch_norm_cases(sizes)})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace sixfold
