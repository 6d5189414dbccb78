// Shapes that don't fit are errors that name the op and the operand.
#include <gtest/gtest.h>

#include "error_message.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

using testing::Test;

struct Shapes : Test {
  Machine machine = cpu(1);
  std::shared_ptr<Arena> arena = std::make_shared<Arena>(machine.backend);
  Tape tape;
  Context context{machine.backend, arena, tape, {}};

  Tensor make(int64_t rows, int64_t cols) {
    Tensor tensor = tensor_of(HostMatrix::normal(rows, cols, 1), *machine.backend, arena, machine.dtype);
    tensor.set_requires_grad(true);
    return tensor;
  }
  Tensor ids(int count) { return context.indices(std::vector<int32_t>(static_cast<size_t>(count), 1)); }

  template <class Action>
  void expect_error(const std::string& part, Action action) {
    EXPECT_NE(error_message(action).find(part), std::string::npos) << error_message(action);
  }
};

TEST_F(Shapes, OfLinear) {
  const Tensor x = make(5, 4);
  expect_error("linear: weight is 3 x 6", [&] { ops::linear(context, x, make(3, 6), make(1, 3)); });
  expect_error("linear: bias is 1 x 4", [&] { ops::linear(context, x, make(3, 4), make(1, 4)); });
  expect_error("linear: weight is 0 x 0", [&] { ops::linear(context, x, {}, make(1, 4)); });
}

TEST_F(Shapes, OfFeedForward) {
  const Tensor x = make(5, 4);
  const auto run = [&](const ops::FeedForwardWeights& w) { ops::feed_forward(context, x, w); };
  run({make(7, 4), make(1, 7), make(4, 7), make(1, 4)});
  expect_error("weight1", [&] { run({make(7, 5), make(1, 7), make(4, 7), make(1, 4)}); });
  expect_error("bias1", [&] { run({make(7, 4), make(1, 6), make(4, 7), make(1, 4)}); });
  expect_error("weight2", [&] { run({make(7, 4), make(1, 7), make(4, 6), make(1, 4)}); });
  expect_error("bias2", [&] { run({make(7, 4), make(1, 7), make(4, 7), make(1, 3)}); });
}

TEST_F(Shapes, OfEmbed) {
  const TokenRows rows = context.token_rows(ragged_of({3, 2}));
  expect_error("ids is 1 x 4", [&] { ops::embed(context, {make(9, 4), make(3, 4)}, ids(4), rows); });
  expect_error("positions is 3 x 5", [&] { ops::embed(context, {make(9, 4), make(3, 5)}, ids(5), rows); });
  expect_error("position 2 exceeds", [&] { ops::embed(context, {make(9, 4), make(2, 4)}, ids(5), rows); });
}

TEST_F(Shapes, OfNorms) {
  const Tensor x = make(5, 4);
  expect_error("norm: weight", [&] { ops::norm(context, x, {make(1, 5), make(1, 4)}); });
  expect_error("norm: bias", [&] { ops::norm(context, x, {make(1, 4), make(4, 1)}); });
  expect_error("residual_norm: y", [&] {
    ops::residual_norm(context, x, {make(4, 4), {}}, {make(1, 4), make(1, 4)});
  });
  expect_error("add: b", [&] { ops::add(context, x, make(5, 3)); });
}

TEST_F(Shapes, OfAttention) {
  const auto pattern = [&](const Ragged& queries, const Ragged& keys) {
    return ops::attention_pattern(context, queries, keys, false);
  };
  const auto run = [&](const ops::AttentionInputs& in, const Ragged& queries, const Ragged& keys) {
    ops::attention(context, in, pattern(queries, keys));
  };
  const Ragged three = ragged_of({3}), four = ragged_of({4});
  run({make(3, 8), make(4, 8), make(4, 6), 2}, three, four);
  expect_error("attention: key", [&] { run({make(3, 8), make(4, 6), make(4, 6), 2}, three, four); });
  expect_error("attention: value", [&] { run({make(3, 8), make(4, 8), make(5, 6), 2}, three, four); });
  expect_error("3 heads", [&] { run({make(3, 8), make(4, 8), make(4, 6), 3}, three, four); });
  expect_error("0 heads", [&] { run({make(3, 8), make(4, 8), make(4, 6), 0}, three, four); });
  expect_error("4 queries from 0", [&] { run({make(3, 8), make(4, 8), make(4, 6), 2}, four, four); });
  expect_error("5 keys from 0", [&] { run({make(3, 8), make(4, 8), make(4, 6), 2}, three, ragged_of({5})); });
  expect_error("1 sequences of queries and 2 of keys", [&] { pattern(three, ragged_of({2, 2})); });
}

TEST_F(Shapes, OfOutput) {
  const Tensor x = make(5, 4);
  expect_error("output: weight", [&] { ops::log_probability(context, x, {make(9, 3), {}}, ids(5)); });
  expect_error("output: bias", [&] { ops::log_probability(context, x, {make(9, 4), make(1, 8)}, ids(5)); });
  expect_error("log_probability: targets", [&] { ops::log_probability(context, x, {make(9, 4), {}}, ids(4)); });
  expect_error("cross_entropy: targets", [&] { ops::cross_entropy(context, x, {make(9, 4), {}}, ids(6), {}); });
  const auto spans = [&](std::vector<RowRange> ranges, int targets) {
    ops::span_loss(context, x, make(2, 4), {ranges, ids(targets)}, {});
  };
  spans({{0, 2}, {3, 5}}, 4);
  expect_error("span_loss: targets is 1 x 3, expected 1 x 4", [&] { spans({{0, 2}, {3, 5}}, 3); });
  expect_error("a choice of the rows 3 to 6, after row 0 and of 5", [&] { spans({{3, 6}}, 2); });
  expect_error("a choice of the rows 1 to 3, after row 2", [&] { spans({{0, 2}, {1, 3}}, 4); });
  expect_error("a choice of the rows 2 to 2", [&] { spans({{2, 2}}, 2); });
  const auto top = [&](int k) { ops::top_k(context, x, {make(9, 4), {}}, k, {}); };
  top(9);
  expect_error("k is 10, but the vocabulary has 9", [&] { top(10); });
  expect_error("k is 0", [&] { top(0); });
}

}  // namespace
}  // namespace sixfold
