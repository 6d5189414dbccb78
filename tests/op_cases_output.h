#pragma once
#include <string>
#include <utility>
#include <vector>

#include "op_case.h"

// Cases of the ops that follow the last layer: losses, log-probabilities, the likeliest tokens; see op_cases.h.

namespace sixfold {

/// What a teacher with states of three features says of rows with these ids, with numbers that follow from the
/// ids.
inline ops::Teacher test_teacher(Context& context, const Tensor& ids, const Tensor& weight,
                                 double temperature) {
  constexpr int64_t features = 3;
  std::vector<float> states, rows;
  for (const int32_t id : ids.to_host<int32_t>(context.backend()))
    for (int j = 0; j < features; ++j) states.push_back(0.5f * static_cast<float>(id * (j + 3) % 7) - 1.5f);
  for (int64_t id = 0; id < weight.rows(); ++id)
    for (int j = 0; j < features; ++j) rows.push_back(0.5f * static_cast<float>(id * (2 * j + 1) % 5) - 1);
  return {.states = context.matrix(states, ids.cols(), features, weight.dtype()),
          .output = {context.matrix(rows, weight.rows(), features, weight.dtype()), {}},
          .weight = 0.75,
          .temperature = temperature};
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
  cases.push_back({.name = "cross_entropy_weighted",
                   .operands = {x, weight},
                   .run =
                       [](Context& context, const auto& a) {
                         std::vector<float> weights;
                         for (const int32_t id : a.ids.template to_host<int32_t>(context.backend()))
                           weights.push_back(0.5f + 0.25f * static_cast<float>(id % 5));
                         return ops::cross_entropy(context, a["x"], {a["weight"], {}}, a.ids,
                                                   {.weights = context.numbers(weights)});
                       },
                   .gradients = Gradients::by_itself,
                   .row_by_row = false,
                   .goldens = {"cross_entropy_weighted"}});
  cases.push_back({.name = "r_drop",
                   .operands = {x, {"y", RowsOf::tokens, 0, s.d_model}, weight},
                   .run =
                       [](Context& context, const auto& a) {
                         return ops::cross_entropy(context, a["x"], {a["weight"], {}}, a.ids,
                                                   {.label_smoothing = 0.1, .r_drop = 5, .second = a["y"]});
                       },
                   .gradients = Gradients::by_itself,
                   .row_by_row = false,
                   .goldens = {"r_drop"}});
  cases.push_back({.name = "distillation",
                   .operands = {x, weight},
                   .run =
                       [](Context& context, const auto& a) {
                         return ops::cross_entropy(
                             context, a["x"], {a["weight"], {}}, a.ids,
                             {.label_smoothing = 0.1, .teacher = test_teacher(context, a.ids, a["weight"], 2)});
                       },
                   .gradients = Gradients::by_itself,
                   .row_by_row = false,
                   .goldens = {"distillation"}});
  cases.push_back(
      {.name = "distillation_of_two_passes",
       .operands = {x, {"y", RowsOf::tokens, 0, s.d_model}, weight},
       .run =
           [](Context& context, const auto& a) {
             return ops::cross_entropy(
                 context, a["x"], {a["weight"], {}}, a.ids,
                 {.r_drop = 5, .second = a["y"], .teacher = test_teacher(context, a.ids, a["weight"], 1)});
           },
       .gradients = Gradients::by_itself,
       .row_by_row = false,
       .goldens = {"distillation_of_two_passes"}});
  for (const double smoothing : {0.0, 0.1})
    cases.push_back(
        {.name = smoothing > 0 ? "span_loss_smoothed" : "span_loss",
         .operands = {x, {"weight", RowsOf::weight, 2, s.d_model}},
         .run = [smoothing](Context& context, const auto& a) { return test_span_loss(context, a, smoothing); },
         .gradients = Gradients::by_itself,
         .row_by_row = false,
         .goldens = {smoothing > 0 ? "span_loss_smoothed" : "span_loss"}});
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

}  // namespace sixfold
