// The loss of a start and an end, against the definition and by its own properties.
#include <gtest/gtest.h>

#include <cmath>

#include "close.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

struct Spans {
  double loss = 0;
  HostMatrix grad_states, grad_weight;
};

Spans run_spans(const Machine& machine, const HostMatrix& states, const HostMatrix& weight,
                const std::vector<RowRange>& ranges, const std::vector<int32_t>& targets) {
  const auto arena = std::make_shared<Arena>(machine.backend);
  Tape tape;
  Context context(machine.backend, arena, tape, {});
  const auto upload = [&](const HostMatrix& matrix) {
    Tensor tensor = tensor_of(matrix, *machine.backend, arena, machine.dtype);
    tensor.set_requires_grad(true);
    return tensor;
  };
  const Tensor x = upload(states), w = upload(weight);
  const Tensor loss = ops::span_loss(context, x, w, {ranges, context.indices(targets)}, {.scale = 0.5});
  return {loss.item(*machine.backend), host_copy(x.gradient(), *machine.backend),
          host_copy(w.gradient(), *machine.backend)};
}

std::vector<Machine> span_machines() { return {reference_f64(), cpu(1), cpu(2)}; }

double score(const HostMatrix& states, const HostMatrix& weight, int64_t row, int64_t kind) {
  double sum = 0;
  for (int64_t i = 0; i < states.cols; ++i)
    sum += states.values[static_cast<size_t>(row * states.cols + i)] *
           weight.values[static_cast<size_t>(kind * states.cols + i)];
  return sum;
}

TEST(SpanLoss, IsMinusTheLogProbabilityOfTheRowsAmongThoseOfTheirRange) {
  const HostMatrix states = HostMatrix::normal(300, 9, 1), weight = HostMatrix::normal(2, 9, 2);
  const std::vector<RowRange> ranges{{3, 4}, {10, 30}, {30, 200}, {250, 300}};
  const std::vector<int32_t> targets{0, 0, 5, 19, 0, 169, 49, 49};
  double expected = 0;
  for (size_t choice = 0; choice < targets.size(); ++choice) {
    const RowRange range = ranges[choice / 2];
    const auto kind = static_cast<int64_t>(choice % 2);
    double sum = 0;
    for (int32_t row = range.begin; row < range.end; ++row) sum += std::exp(score(states, weight, row, kind));
    expected += std::log(sum) - score(states, weight, range.begin + targets[choice], kind);
  }
  for (const Machine& machine : span_machines())
    EXPECT_NEAR(run_spans(machine, states, weight, ranges, targets).loss, expected, 1e-5 * expected)
        << machine.name;
}

TEST(SpanLoss, ChangesNoRowThatCannotBeChosen) {
  const HostMatrix states = HostMatrix::normal(40, 6, 3), weight = HostMatrix::normal(2, 6, 4);
  for (const Machine& machine : span_machines()) {
    const Spans spans = run_spans(machine, states, weight, {{2, 7}, {20, 39}}, {1, 3, 0, 18});
    for (int64_t row = 0; row < 40; ++row) {
      const bool chosen_from = (row >= 2 && row < 7) || (row >= 20 && row < 39);
      EXPECT_EQ(norm_of(spans.grad_states.slice_rows(row, 1)) > 0, chosen_from)
          << machine.name << ", row " << row;
    }
  }
}

TEST(SpanLoss, OfASampleDoesNotDependOnTheOthers) {
  const HostMatrix states = HostMatrix::normal(90, 11, 5), weight = HostMatrix::normal(2, 11, 6);
  for (const Machine& machine : span_machines()) {
    const Spans both = run_spans(machine, states, weight, {{1, 40}, {41, 90}}, {3, 7, 0, 48});
    const Spans second = run_spans(machine, states.slice_rows(40, 50), weight, {{1, 50}}, {0, 48});
    EXPECT_TRUE(both.grad_states.slice_rows(40, 50) == second.grad_states) << machine.name;
  }
}

TEST(SpanLoss, OfASingleRowIsZero) {
  const HostMatrix states = HostMatrix::normal(5, 6, 7), weight = HostMatrix::normal(2, 6, 8);
  for (const Machine& machine : span_machines()) {
    const Spans spans = run_spans(machine, states, weight, {{2, 3}}, {0, 0});
    EXPECT_NEAR(spans.loss, 0, 1e-6) << machine.name;
    EXPECT_NEAR(norm_of(spans.grad_weight), 0, 1e-6) << machine.name;
  }
}

}  // namespace
}  // namespace sixfold
