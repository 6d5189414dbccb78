#include <gtest/gtest.h>

#include "close.h"
#include "error_message.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

/// The case of op_cases.h that has this name.
OpCase case_named(const std::string& name, const OpSizes& sizes) {
  for (const OpCase& op : op_cases(sizes))
    if (op.name == name) return op;
  throw std::out_of_range(name);
}

std::vector<Machine> attention_machines() { return {reference_f64(), reference_f32(), cpu(1), cpu(2)}; }

TEST(AttentionWeights, OfAQuerySumToOneAndEndWithItsKeys) {
  for (const bool causal : {false, true})
    for (const Machine& machine : attention_machines()) {
      const OpCase op = case_named(causal ? "attention_weights_causal" : "attention_weights", uneven_sizes());
      const OpValues values = draw_values(op, uneven_sizes(), 1);
      const Ragged& keys = causal ? values.tokens : values.keys;
      const HostMatrix weights = run_op(machine, op, values).output;
      ASSERT_EQ(weights.rows, values.heads * values.tokens.tokens());
      for (int head = 0; head < values.heads; ++head)
        for (int i = 0; i < values.tokens.sequences(); ++i)
          for (int q = 0; q < values.tokens.length(i); ++q) {
            const int64_t row = head * values.tokens.tokens() + values.tokens.begin(i) + q;
            const double* weight = weights.values.data() + row * weights.cols;
            const int64_t seen = causal ? q + 1 : keys.length(i);
            double sum = 0;
            for (int64_t j = 0; j < weights.cols; ++j) {
              if (j < seen)
                EXPECT_GT(weight[j], 0) << machine.name;
              else
                EXPECT_EQ(weight[j], 0) << machine.name << ", query " << q << ", key " << j;
              sum += weight[j];
            }
            EXPECT_NEAR(sum, seen > 0 ? 1 : 0, 1e-6) << machine.name;
          }
    }
}

TEST(AttentionWeights, TimesValuesIsTheOutput) {
  const OpSizes sizes = small_sizes();
  const OpCase attention = case_named("attention", sizes);
  const OpValues values = draw_values(attention, sizes, 2);
  const HostMatrix out = run_op(reference_f64(), attention, values).output,
                   weights = run_op(reference_f64(), case_named("attention_weights", sizes), values).output;
  const HostMatrix& v = values.operands.at("v");
  for (int i = 0; i < values.tokens.sequences(); ++i)
    for (int q = values.tokens.begin(i); q < values.tokens.begin(i + 1); ++q)
      for (int head = 0; head < sizes.heads; ++head)
        for (int c = head * sizes.d_v; c < (head + 1) * sizes.d_v; ++c) {
          double sum = 0;
          for (int j = 0; j < values.keys.length(i); ++j)
            sum += weights.values[static_cast<size_t>((head * values.tokens.tokens() + q) * weights.cols + j)] *
                   v.values[static_cast<size_t>((values.keys.begin(i) + j) * v.cols + c)];
          EXPECT_NEAR(out.values[static_cast<size_t>(q * out.cols + c)], sum, 1e-12);
        }
}

// The example of teaching texts: a query picks the values of the keys that it points at.
TEST(Attention, WorkedExample) {
  const OpCase op = case_named("attention", small_sizes());
  OpValues values{.operands = {{"q", {3, 3, {0, 10, 0, 0, 0, 10, 10, 10, 0}}},
                               {"k", {4, 3, {10, 0, 0, 0, 10, 0, 0, 0, 10, 0, 0, 10}}},
                               {"v", {4, 3, {1, 0, 1, 10, 0, 2, 100, 5, 0, 1000, 6, 0}}}},
                  .tokens = ragged_of({3}),
                  .keys = ragged_of({4})};
  for (const Machine& machine : attention_machines())
    expect_close(run_op(machine, op, values).output, {3, 3, {10, 0, 2, 550, 5.5, 0, 5.5, 0, 1.5}}, 1e-7,
                 machine.name);
}

// Scores of some thousands must not overflow.
TEST(Attention, OfLargeScoresStaysFinite) {
  const OpCase op = case_named("attention", small_sizes());
  OpValues values = draw_values(op, small_sizes(), 3);
  for (double& q : values.operands.at("q").values) q *= 5000;
  const OpResult exact = run_op(reference_f64(), op, values), result = run_op(cpu(1), op, values);
  expect_close(result.output, exact.output, 1e-4, "output");
  for (const auto& [name, gradient] : result.gradients)
    for (const double value : gradient.values) EXPECT_TRUE(std::isfinite(value)) << name;
}

TEST(Attention, OfAKeyThatNobodySeesHasNoGradient) {
  // Two queries and four keys: of a causal span the queries are the last two places, so that all keys are seen;
  // four queries and two keys: the first two see nothing.
  const OpCase op{
      .name = "causal",
      .operands = {{"q", RowsOf::tokens, 0, 8}, {"k", RowsOf::keys, 0, 8}, {"v", RowsOf::keys, 0, 6}},
      .run = [](Context& context, const OpArguments& a) {
        return ops::attention(context, {a["q"], a["k"], a["v"], a.heads},
                              ops::attention_pattern(context, a.rows.ragged, a.keys, /*causal=*/true));
      }};
  OpSizes sizes = small_sizes();
  sizes.lengths = {2, 4};
  sizes.key_lengths = {4, 2};
  const OpValues values = draw_values(op, sizes, 4);
  const OpResult exact = run_op(reference_f64(), op, values), result = run_op(cpu(2), op, values);
  expect_close(result.output, exact.output, 1e-6, "output");
  for (int64_t i = 2 * 6; i < 4 * 6; ++i) EXPECT_EQ(result.output.values[static_cast<size_t>(i)], 0);
  for (const auto& [name, gradient] : result.gradients)
    expect_close(gradient, exact.gradients.at(name), 1e-5, name);
}

}  // namespace
}  // namespace sixfold
