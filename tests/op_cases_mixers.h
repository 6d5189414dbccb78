#pragma once
#include <string>
#include <utility>
#include <vector>

#include "model/layers/architecture.h"
#include "op_case.h"

// Cases of the ops that alternatives to the paper's attention consist of; see op_cases.h.

namespace sixfold {

/// Alternatives to the paper's attention, and all of them at once.
struct AttentionVariant {
  const char* name;
  int kv_heads = 0;
  int window = kernel::Attention::everywhere;
  bool scaled = true, additive = false, biased = false;
};

inline constexpr AttentionVariant attention_variants[] = {
    {.name = "multi_query", .kv_heads = 1},
    {.name = "restricted", .window = 2},
    {.name = "widely_restricted", .window = 37},
    {.name = "unscaled", .scaled = false},
    {.name = "additive", .additive = true},
    {.name = "biased", .biased = true},
    {.name = "additive_and_more", .kv_heads = 1, .window = 3, .additive = true, .biased = true},
    {.name = "grouped_and_more", .kv_heads = 1, .window = 9, .scaled = false, .biased = true}};

inline OpCase attention_variant_case(const OpSizes& s, const AttentionVariant& variant, bool causal,
                                     double dropout) {
  const int kv_heads = variant.kv_heads ? variant.kv_heads : s.heads;
  std::vector<OpOperand> operands{{"q", RowsOf::tokens, 0, s.heads * s.d_k},
                                  {"k", RowsOf::tokens, 0, kv_heads * s.d_k},
                                  {"v", RowsOf::tokens, 0, kv_heads * s.d_v}};
  const int longest = *std::max_element(s.lengths.begin(), s.lengths.end());
  if (variant.additive) operands.push_back({"score_weight", RowsOf::weight, 1, s.heads * s.d_k});
  if (variant.biased) operands.push_back({"bias", RowsOf::weight, 2 * longest - 1, s.heads});
  return {.name = std::string("attention_") + variant.name + (causal ? "_causal" : "") +
                  (dropout > 0 ? "_dropped" : ""),
          .operands = operands,
          .run = [=](Context& context, const auto& a) {
            const ops::AttentionInputs inputs{.query = a["q"],
                                              .key = a["k"],
                                              .value = a["v"],
                                              .heads = a.heads,
                                              .kv_heads = variant.kv_heads,
                                              .window = variant.window,
                                              .scaled = variant.scaled,
                                              .score_weight = variant.additive ? a["score_weight"] : Tensor(),
                                              .distance_bias = variant.biased ? a["bias"] : Tensor()};
            return ops::attention(context, inputs,
                                  ops::attention_pattern(context, a.rows.ragged, a.rows.ragged, causal),
                                  context.dropout(dropout, a.rows));
          }};
}

inline std::vector<OpCase> attention_variant_cases(const OpSizes& s) {
  std::vector<OpCase> cases;
  for (const AttentionVariant& variant : attention_variants)
    for (const bool causal : {false, true}) {
      const bool wide = std::string_view(variant.name) == "widely_restricted";
      cases.push_back(attention_variant_case(s, variant, causal, 0));
      if (!wide) cases.back().goldens = {cases.back().name};
      // Dropout is the same for all scores: once with each of what changes the places that it is for.
      if (wide || variant.kv_heads) cases.push_back(attention_variant_case(s, variant, causal, test_dropout));
    }
  return cases;
}

/// Gates and the like, which the mixers that replace attention need.
inline std::vector<OpCase> gate_cases(const OpSizes& s) {
  const auto tokens = [](const char* name, int64_t cols) { return OpOperand{name, RowsOf::tokens, 0, cols}; };
  std::vector<OpCase> cases;
  cases.push_back(
      {.name = "activate",
       .operands = {tokens("x", s.d_model)},
       .run = [](Context& context, const auto& a) { return ops::activate(context, a["x"], Activation::relu); },
       .goldens = {"activate"}});
  cases.push_back(
      {.name = "concatenate",
       .operands = {tokens("x", s.d_model), tokens("y", s.d_ff)},
       .run = [](Context& context, const auto& a) { return ops::concatenate(context, a["x"], a["y"]); },
       .goldens = {"concatenate"}});
  cases.push_back({.name = "glu",
                   .operands = {tokens("x", 2 * s.d_model)},
                   .run = [](Context& context, const auto& a) { return ops::glu(context, a["x"]); },
                   .goldens = {"glu"}});
  cases.push_back({.name = "gated_sum",
                   .operands = {tokens("gates", 2 * s.d_model), tokens("x", s.d_model), tokens("y", s.d_model)},
                   .run = [](Context& context,
                             const auto& a) { return ops::gated_sum(context, a["gates"], a["x"], a["y"]); },
                   .goldens = {"gated_sum"}});
  return cases;
}

inline std::vector<OpCase> convolution_cases(const OpSizes& s) {
  struct Shape {
    std::string name;
    ops::Window window;
  };
  std::vector<OpCase> cases;
  for (const auto& [name, window] : {Shape{"", {3, 1}}, Shape{"_causal", {4, 3}}, Shape{"_wide", {9, 3}}}) {
    const OpOperand x{"x", RowsOf::tokens, 0, s.d_model}, keys{"x", RowsOf::keys, 0, s.d_model};
    const OpOperand weight{"weight", RowsOf::weight, window.size, s.d_model};
    const OpOperand bias{"bias", RowsOf::weight, 1, s.d_model};
    const auto whole = [](Context& context, const OpArguments& a) {
      return ops::attention_pattern(context, a.rows.ragged, a.rows.ragged, /*causal=*/false);
    };
    const auto fixed = [](const OpArguments& a) {
      for (const auto& operand : a.operands) Tensor(operand.second).set_requires_grad(false);
    };
    cases.push_back({.name = "unfold" + name,
                     .operands = {x},
                     .run =
                         [=, read = window](Context& context, const auto& a) {
                           return ops::unfold(context, a["x"], read, whole(context, a));
                         },
                     .goldens = {"unfold" + name}});
    cases.push_back(
        {.name = "depthwise" + name,
         .operands = {x, weight, bias},
         .run =
             [=, left = window.left](Context& context, const auto& a) {
               return ops::depthwise(context, a["x"], {a["weight"], a["bias"], left}, whole(context, a));
             },
         .goldens = {"depthwise" + name}});
    cases.push_back({.name = "depthwise_without_bias" + name,
                     .operands = {x, weight},
                     .run = [=, left = window.left](Context& context, const auto& a) {
                       return ops::depthwise(context, a["x"], {a["weight"], {}, left}, whole(context, a));
                     }});
    cases.push_back({.name = "unfold_cached" + name,
                     .operands = {keys},
                     .run =
                         [=, read = window](Context& context, const auto& a) {
                           fixed(a);
                           return ops::unfold(context, a["x"], read, cached_pattern(context, a));
                         },
                     .gradients = Gradients::none});
    cases.push_back({.name = "depthwise_cached" + name,
                     .operands = {keys, weight, bias},
                     .run =
                         [=, left = window.left](Context& context, const auto& a) {
                           fixed(a);
                           return ops::depthwise(context, a["x"], {a["weight"], a["bias"], left},
                                                 cached_pattern(context, a));
                         },
                     .gradients = Gradients::none});
  }
  return cases;
}

inline std::vector<OpCase> linear_recurrence_cases(const OpSizes& s) {
  const OpOperand value{"value", RowsOf::tokens, 0, s.d_model}, gate{"gate", RowsOf::tokens, 0, s.d_model};
  std::vector<OpCase> cases;
  for (const bool gated : {true, false}) {
    const std::string name = gated ? "linear_recurrence" : "cumulative_average";
    const std::vector<OpOperand> operands = gated ? std::vector{value, gate} : std::vector{value};
    cases.push_back({.name = name,
                     .operands = operands,
                     .run =
                         [gated](Context& context, const auto& a) {
                           std::vector<AttentionSpan> spans;
                           const Ragged& rows = a.rows.ragged;
                           for (int i = 0; i < rows.sequences(); ++i)
                             spans.push_back({rows.begin(i), rows.length(i), 0, 0});
                           const auto pattern = ops::attention_pattern(context, spans, /*causal=*/false);
                           return ops::linear_recurrence(context, a["value"], gated ? a["gate"] : Tensor(),
                                                         a.rows, {{}, pattern});
                         },
                     .goldens = {name}});
    cases.push_back({.name = name + "_cached",
                     .operands = operands,
                     .run =
                         [gated](Context& context, const auto& a) {
                           for (const auto& operand : a.operands)
                             Tensor(operand.second).set_requires_grad(false);
                           return ops::linear_recurrence(context, a["value"], gated ? a["gate"] : Tensor(),
                                                         a.rows, {a["before"], cached_pattern(context, a)});
                         },
                     .gradients = Gradients::none});
    cases.back().operands.push_back({"before", RowsOf::keys, 0, s.d_model});
  }
  return cases;
}

/// The cells that replace attention. The rows of the states are put back into the order of the batch.
inline OpCase recurrent_case(const OpSizes& s, const std::string& name, RecurrentCell cell, bool reverse,
                             bool continued) {
  const int64_t d = s.d_k, width = gates_of(cell) * d;
  std::vector<OpOperand> operands{{"x", RowsOf::tokens, 0, s.d_model},
                                  {"w_ih", RowsOf::weight, width, s.d_model},
                                  {"b_ih", RowsOf::weight, 1, width},
                                  {"w_hh", RowsOf::weight, width, d, 0.125}};  // or errors grow with each step
  if (cell == RecurrentCell::gru) operands.push_back({"b_hh", RowsOf::weight, 1, width});
  const auto sequences = static_cast<int64_t>(s.lengths.size());
  if (continued) operands.push_back({"state", RowsOf::weight, sequences, d});
  if (continued && cell == RecurrentCell::lstm) operands.push_back({"memory", RowsOf::weight, sequences, d});
  return {.name = name,
          .operands = operands,
          .run =
              [=](Context& context, const auto& a) {
                const auto optional = [&](const char* key) {
                  return a.operands.count(key) ? a[key] : Tensor();
                };
                const auto steps = ops::time_steps(context, a.rows.ragged, reverse);
                return ops::recurrent(context, {.cell = cell,
                                                .gates = ops::linear(context, a["x"], a["w_ih"], a["b_ih"]),
                                                .weight = a["w_hh"],
                                                .bias = optional("b_hh"),
                                                .state = optional("state"),
                                                .memory = optional("memory"),
                                                .steps = steps})
                    .state;
              },
          .row_by_row = !continued,
          .composed = true};
}

inline std::vector<OpCase> recurrent_cases(const OpSizes& s) {
  const std::pair<const char*, RecurrentCell> cells[] = {
      {"recurrent", RecurrentCell::tanh}, {"lstm", RecurrentCell::lstm}, {"gru", RecurrentCell::gru}};
  std::vector<OpCase> cases;
  for (const auto& [name, cell] : cells) {
    for (const bool reverse : {false, true}) {
      cases.push_back(recurrent_case(s, name + std::string(reverse ? "_reverse" : ""), cell, reverse, false));
      cases.back().goldens = {cases.back().name};
    }
    cases.push_back(recurrent_case(s, name + std::string("_continued"), cell, false, true));
  }
  const OpOperand x{"x", RowsOf::tokens, 0, s.d_model};
  cases.push_back({.name = "rows_rearranged",
                   .operands = {x},
                   .run =
                       [](Context& context, const auto& a) {
                         const int64_t half = a["x"].rows() / 2;
                         const std::vector<Tensor> parts{
                             ops::slice_rows(context, a["x"], half, a["x"].rows() - half),
                             ops::slice_rows(context, a["x"], 0, half)};
                         return ops::join_rows(context, parts);
                       },
                   .row_by_row = false,
                   .composed = true});
  return cases;
}

}  // namespace sixfold
