#include "ops/tape.h"

#include <gtest/gtest.h>

#include "error_message.h"
#include "ops/context.h"

namespace sixfold {
namespace {

struct TapeTest : testing::Test {
  std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  std::shared_ptr<Arena> arena = std::make_shared<Arena>(backend);
  Tape tape;
  Context context{backend, arena, tape, {.seed = 1, .update = 2}};

  Tensor make(bool requires_grad) {
    Tensor tensor = context.tensor(2, 3, DType::f64);
    backend->run(kernel::Fill{tensor.view(), 1});
    tensor.set_requires_grad(requires_grad);
    return tensor;
  }
};

TEST_F(TapeTest, WalksBackFromTheNewestAndForgets) {
  std::string order;
  const Tensor output = make(true);
  output.set_gradient(make(false));
  for (const char* name : {"a", "b", "c"}) tape.record({"", name, output, [&order, name] { order += name; }});
  tape.backward();
  EXPECT_EQ(order, "cba");
  EXPECT_TRUE(tape.nodes().empty());
}

TEST_F(TapeTest, PassesOverWhatGotNoGradient) {
  int runs = 0;
  const Tensor reached = make(true);
  reached.set_gradient(make(false));
  tape.record({"", "reached", reached, [&] { ++runs; }});
  tape.record({"", "unreached", make(true), [&] { runs += 100; }});
  tape.backward();
  EXPECT_EQ(runs, 1);
}

TEST_F(TapeTest, GivesBuffersBackAsItGoes) {
  const size_t before = arena->in_use();
  size_t during = 0;
  {
    const Tensor first = make(true), second = make(true);
    first.set_gradient(make(false));
    second.set_gradient(make(false));
    tape.record({"", "first", first, [&] { during = arena->in_use(); }});
    tape.record({"", "second", second, [] {}});
  }
  const size_t whole = arena->in_use();
  tape.backward();
  EXPECT_EQ(during - before, (whole - before) / 2);  // the second node's output and gradient are gone
  EXPECT_EQ(arena->in_use(), before);
}

TEST_F(TapeTest, NodesCarryTheNamesOfTheirModules) {
  const Tensor x = make(true);
  {
    const Context::Scope layer(context, "decoder.layers.2");
    const Context::Scope attention(context, "self_attn");
    context.record("linear", x, {}, [] {});
  }
  const Context::Scope other(context, "output");
  context.record("linear", x, {}, [] {});
  ASSERT_EQ(tape.nodes().size(), 2u);
  EXPECT_EQ(tape.nodes()[0].module, "decoder.layers.2.self_attn");
  EXPECT_STREQ(tape.nodes()[0].op, "linear");
  EXPECT_EQ(tape.nodes()[1].module, "output");
}

TEST_F(TapeTest, RecordsOnlyWhereGradientsFlow) {
  const Tensor with = make(true), without = make(false), output = make(false);
  EXPECT_FALSE(context.track(output, {without, Tensor()}));
  context.record("op", output, {}, [] {});
  EXPECT_TRUE(tape.nodes().empty());
  EXPECT_TRUE(context.track(output, {without, with}));
  context.record("op", output, {}, [] {});
  EXPECT_EQ(tape.nodes().size(), 1u);

  Context silent(backend, arena);
  EXPECT_FALSE(silent.track(output, {with}));
  EXPECT_FALSE(output.requires_grad());
}

TEST_F(TapeTest, TheSecondGradientIsAddedToTheFirst) {
  const Tensor x = make(true);
  const auto first = context.gradient_of(x), second = context.gradient_of(x);
  EXPECT_FALSE(first.accumulate);
  EXPECT_TRUE(second.accumulate);
  EXPECT_EQ(first.view.data, second.view.data);
  EXPECT_FALSE(context.gradient_of(make(false)).view);
}

TEST_F(TapeTest, RowsKnowTheirSentencesAndPlaces) {
  Ragged ragged;
  for (const int length : {2, 0, 3}) ragged.add(length);
  const std::vector<int32_t> sentences{7, 8, 5};
  const TokenRows rows = context.token_rows(ragged, sentences), numbered = context.token_rows(ragged);
  EXPECT_EQ(rows.sentence.to_host<int32_t>(*backend), (std::vector<int32_t>{7, 7, 5, 5, 5}));
  EXPECT_EQ(rows.position.to_host<int32_t>(*backend), (std::vector<int32_t>{0, 1, 0, 1, 2}));
  EXPECT_EQ(numbered.sentence.to_host<int32_t>(*backend), (std::vector<int32_t>{0, 0, 2, 2, 2}));
  EXPECT_EQ(rows.longest, 3);
  EXPECT_NE(error_message([&] {
              context.token_rows(ragged, std::vector<int32_t>{1, 2});
            }).find("2 sentence numbers"),
            std::string::npos);
}

TEST_F(TapeTest, DropsOnlyInTrainingAndDifferentlyInEachModule) {
  Ragged ragged;
  ragged.add(4);
  const TokenRows rows = context.token_rows(ragged);
  EXPECT_FALSE(context.dropout(0, rows));
  const Dropout first = context.dropout(0.25, rows), second = context.dropout(0.25, rows);
  EXPECT_EQ(first.threshold, 16384u);
  EXPECT_EQ(first.seed, 1u);
  EXPECT_EQ(first.update, 2u);
  EXPECT_NE(first.module, second.module);
  Context silent(backend, arena);
  EXPECT_FALSE(silent.dropout(0.25, silent.token_rows(ragged)));
}

}  // namespace
}  // namespace sixfold
