// Recurrent cells: what holds whatever the weights are.
#include <gtest/gtest.h>

#include "close.h"
#include "error_message.h"
#include "ops/on_cpu.h"

namespace sixfold {
namespace {

struct Recurrent : testing::TestWithParam<RecurrentCell>, OnCpu {
  static constexpr int64_t d = 12;
  int64_t width = gates_of(GetParam()) * d;
  HostMatrix weight = HostMatrix::normal(width, d, 1), gates = HostMatrix::normal(20, width, 2);

  ops::RecurrentOutputs run(const HostMatrix& inputs, const Ragged& rows, bool reverse,
                            const Tensor& state = {}, const Tensor& memory = {}) {
    const auto steps = ops::time_steps(context, rows, reverse);
    return ops::recurrent(context, {.cell = GetParam(),
                                    .gates = tensor(inputs),
                                    .weight = tensor(weight),
                                    .state = state,
                                    .memory = memory,
                                    .steps = steps});
  }
};

INSTANTIATE_TEST_SUITE_P(Cells, Recurrent,
                         testing::Values(RecurrentCell::tanh, RecurrentCell::lstm, RecurrentCell::gru));

HostMatrix upside_down(const HostMatrix& x) {
  HostMatrix out{x.rows, x.cols, {}};
  for (int64_t r = x.rows; r-- > 0;) {
    const HostMatrix row = x.slice_rows(r, 1);
    out.values.insert(out.values.end(), row.values.begin(), row.values.end());
  }
  return out;
}

TEST_P(Recurrent, BackwardsIsForwardOverTheReversedSentence) {
  const Ragged rows = ragged_of({20});
  EXPECT_TRUE(host(run(gates, rows, true).state) ==
              upside_down(host(run(upside_down(gates), rows, false).state)));
}

/// A sentence that is read in two parts gives what it gives as a whole.
TEST_P(Recurrent, GoesOnWhereItStopped) {
  const HostMatrix whole = host(run(gates, ragged_of({20}), false).state);
  const auto first = run(gates.slice_rows(0, 13), ragged_of({13}), false);
  const Tensor memory = first.memory ? ops::slice_rows(context, first.memory, 12, 1) : Tensor();
  const auto second =
      run(gates.slice_rows(13, 7), ragged_of({7}), false, ops::slice_rows(context, first.state, 12, 1), memory);
  EXPECT_TRUE(host(first.state) == whole.slice_rows(0, 13));
  expect_close(host(second.state), whole.slice_rows(13, 7), 1e-6, "the second part");
}

/// States stay between -1 and 1 however large the inputs are.
TEST_P(Recurrent, StatesAreBounded) {
  HostMatrix large = gates;
  for (double& value : large.values) value *= 1e4;
  for (const double value : host(run(large, ragged_of({20}), false).state).values)
    EXPECT_LE(std::abs(value), 1.0);
}

TEST_P(Recurrent, WrongShapesAreRefused) {
  const auto steps = ops::time_steps(context, ragged_of({20}), false);
  EXPECT_NE(error_message([&] {
              ops::recurrent(context, {.cell = GetParam(),
                                       .gates = tensor(gates.slice_rows(0, 19)),
                                       .weight = tensor(weight),
                                       .steps = steps});
            }).find("recurrent: gates is 19 x"),
            std::string::npos);
}

/// An LSTM whose input gate is shut and whose forget gate is open keeps its memory.
TEST(Lstm, KeepsItsMemoryForever) {
  constexpr int64_t d = 4;
  const Machine machine = cpu(1);
  const auto arena = std::make_shared<Arena>(machine.backend);
  Context context(machine.backend, arena);
  HostMatrix gates{500, 4 * d, {}};
  for (int64_t r = 0; r < gates.rows; ++r)
    for (const double gate : {-1000.0, 1000.0, 0.5, 1000.0}) gates.values.insert(gates.values.end(), d, gate);
  const auto tensor = [&](const HostMatrix& x) { return tensor_of(x, *machine.backend, arena, machine.dtype); };
  const HostMatrix memory = HostMatrix::normal(1, d, 7);
  const auto out = ops::recurrent(context, {.cell = RecurrentCell::lstm,
                                            .gates = tensor(gates),
                                            .weight = tensor({4 * d, d, std::vector<double>(4 * d * d)}),
                                            .state = tensor({1, d, std::vector<double>(d)}),
                                            .memory = tensor(memory),
                                            .steps = ops::time_steps(context, ragged_of({500}), false)});
  EXPECT_TRUE(host_copy(out.memory, *machine.backend).slice_rows(499, 1) == memory);
}

TEST(TimeSteps, TheLongestSentencesComeFirst) {
  const Machine machine = cpu(1);
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  const auto steps = ops::time_steps(context, ragged_of({1, 3, 0, 2}), false);
  EXPECT_EQ(steps->order, (std::vector<int32_t>{1, 3, 0, 2}));
  EXPECT_EQ(steps->begin, (std::vector<int64_t>{0, 3, 5, 6}));
  EXPECT_EQ(steps->from_packed.to_host<int32_t>(*machine.backend), (std::vector<int32_t>{1, 4, 0, 2, 5, 3}));
  EXPECT_EQ(steps->to_packed.to_host<int32_t>(*machine.backend), (std::vector<int32_t>{2, 0, 3, 5, 1, 4}));
  EXPECT_FALSE(ops::time_steps(context, ragged_of({1, 1}), true)->from_packed);
}

}  // namespace
}  // namespace sixfold
