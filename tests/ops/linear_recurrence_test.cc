#include <gtest/gtest.h>

#include <cmath>

#include "error_message.h"
#include "ops/on_cpu.h"

namespace sixfold {
namespace {

constexpr int width = 5;

struct LinearRecurrences : testing::Test, OnCpu {
  Tensor constant(int64_t rows, double value) {
    return tensor({rows, width, std::vector<double>(static_cast<size_t>(rows * width), value)});
  }
  /// Sequences that begin with zeros.
  ops::InitialStates nothing(const Ragged& rows) {
    std::vector<AttentionSpan> spans;
    for (int i = 0; i < rows.sequences(); ++i) spans.push_back({rows.begin(i), rows.length(i), 0, 0});
    return {{}, ops::attention_pattern(context, std::move(spans), /*causal=*/false)};
  }
  HostMatrix run(const Tensor& value, const Tensor& gate, const Ragged& rows) {
    return host(ops::linear_recurrence(context, value, gate, context.token_rows(rows), nothing(rows)));
  }
};

TEST_F(LinearRecurrences, WithoutAGateAreTheMeanOfTheTokensSoFar) {
  const Ragged rows = ragged_of({40, 1, 0, 7});
  const HostMatrix value = HostMatrix::normal(48, width, 1), average = run(tensor(value), {}, rows);
  for (int i = 0; i < rows.sequences(); ++i)
    for (size_t c = 0; c < width; ++c) {
      double sum = 0;
      for (int p = 0; p < rows.length(i); ++p) {
        const size_t place = static_cast<size_t>(rows.begin(i) + p) * width + c;
        sum += value.values[place];
        EXPECT_NEAR(average.values[place], sum / (p + 1), 1e-6);
      }
    }
}

/// A number that is not finite is not made to look like one, so that training can report it.
TEST_F(LinearRecurrences, KeepNaN) {
  const Ragged rows = ragged_of({40});
  HostMatrix gate = HostMatrix::normal(40, width, 2);
  gate.values[7 * width + 2] = std::nan("");
  const HostMatrix states = run(constant(40, 1), tensor(gate), rows);
  for (size_t p = 0; p < 40; ++p)
    for (size_t c = 0; c < width; ++c)
      EXPECT_EQ(std::isnan(states.values[p * width + c]), p >= 7 && c == 2) << p << " " << c;
}

/// An open gate keeps the state before the tokens for ever; a closed one forgets it at once.
TEST_F(LinearRecurrences, KeepEverythingOrNothing) {
  const Ragged rows = ragged_of({4, 3});
  const HostMatrix value = HostMatrix::normal(7, width, 1), before = HostMatrix::normal(3, width, 2);
  const auto pattern = ops::attention_pattern(context, {{0, 4, 0, 1}, {4, 3, 1, 1}}, /*causal=*/false,
                                              std::vector<int32_t>{2, 0});
  const auto from = [&](const Tensor& gate) {
    return host(ops::linear_recurrence(context, tensor(value), gate, context.token_rows(rows),
                                       {tensor(before), pattern}));
  };
  EXPECT_TRUE(from(constant(7, -1000)) == value);
  const HostMatrix kept = from(constant(7, 1000));
  for (int64_t r = 0; r < 7; ++r) EXPECT_TRUE(kept.slice_rows(r, 1) == before.slice_rows(r < 4 ? 2 : 0, 1));
}

TEST_F(LinearRecurrences, InPartsEqualTheWholeSequence) {
  const int length = 12;
  const HostMatrix value = HostMatrix::normal(length, width, 1), gate = HostMatrix::normal(length, width, 2);
  for (const bool gated : {true, false}) {
    const HostMatrix whole = run(tensor(value), gated ? tensor(gate) : Tensor(), ragged_of({length}));
    for (int begin = 1, count = 1; begin < length; begin += count, count = count % 3 + 1) {
      count = std::min(count, length - begin);
      std::vector<int32_t> positions;
      for (int p = begin; p < begin + count; ++p) positions.push_back(p);
      TokenRows rows = context.token_rows(ragged_of({count}));
      rows.position = context.indices(positions);
      // The state is the last key of the span.
      const auto pattern = ops::attention_pattern(context, {{0, count, 0, begin}}, /*causal=*/false);
      const Tensor states = ops::linear_recurrence(context, tensor(value.slice_rows(begin, count)),
                                                   gated ? tensor(gate.slice_rows(begin, count)) : Tensor(),
                                                   rows, {tensor(whole.slice_rows(0, begin)), pattern});
      EXPECT_TRUE(host(states) == whole.slice_rows(begin, count)) << begin;
    }
  }
}

TEST_F(LinearRecurrences, RefuseWhatDoesNotFit) {
  const auto says = [](const std::string& part, const std::function<void()>& call) {
    EXPECT_NE(error_message(call).find(part), std::string::npos) << error_message(call);
  };
  const Ragged rows = ragged_of({5});
  const TokenRows tokens = context.token_rows(rows);
  const Tensor value = constant(5, 1);
  says("linear_recurrence: gate is 4 x 5",
       [&] { ops::linear_recurrence(context, value, constant(4, 1), tokens, nothing(rows)); });
  says("the sequences have 4 tokens, but there are 5 values",
       [&] { ops::linear_recurrence(context, value, {}, tokens, nothing(ragged_of({4}))); });
  const auto pattern = ops::attention_pattern(context, {{0, 5, 0, 3}}, /*causal=*/false);
  for (const Tensor& before : {Tensor(), constant(2, 1)})
    says("3 keys from 0 exceeds", [&] {
      ops::linear_recurrence(context, value, {}, tokens, {before, pattern});
    });
  Tape tape;
  Context recording(machine.backend, arena, tape, {});
  Tensor trained = constant(5, 1);
  trained.set_requires_grad(true);
  says("gradients need whole sequences", [&] {
    ops::linear_recurrence(recording, trained, {}, tokens, {constant(3, 1), pattern});
  });
}

/// A gate that knows nothing is half open.
TEST(Glu, WithoutGatesIsHalfOfTheValues) {
  const Machine machine = reference_f64();
  const auto memory = lasting_memory(machine.backend);
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  HostMatrix x = HostMatrix::normal(3, 2 * width, 1);
  for (size_t r = 0; r < 3; ++r) std::fill_n(x.values.begin() + (2 * r + 1) * width, width, 0.0);
  const HostMatrix y =
      host_copy(ops::glu(context, tensor_of(x, *machine.backend, memory, machine.dtype)), *machine.backend);
  for (size_t r = 0; r < 3; ++r)
    for (size_t c = 0; c < width; ++c)
      EXPECT_DOUBLE_EQ(y.values[r * width + c], x.values[2 * r * width + c] / 2);
}

}  // namespace
}  // namespace sixfold
