// A sentence's result does not depend on its neighbours: a packed batch equals its sentences one by one, to the
// bit, forwards and backwards.
#include <gtest/gtest.h>

#include "instruction_sets.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

std::vector<OpCase> row_by_row(const OpSizes& sizes) {
  auto cases = op_cases(sizes);
  std::erase_if(cases, [](const OpCase& op) { return !op.row_by_row; });
  return cases;
}

class Packing : public testing::TestWithParam<OpCase> {};
class PackingOfLarge : public Packing {};

INSTANTIATE_TEST_SUITE_P(Ops, Packing, testing::ValuesIn(row_by_row(small_sizes())), name_of_case);
INSTANTIATE_TEST_SUITE_P(SlowOps, PackingOfLarge, testing::ValuesIn(row_by_row(uneven_sizes())), name_of_case);

HostMatrix rows_of(const HostMatrix& packed, const Ragged& ragged, int sentence) {
  return packed.slice_rows(ragged.begin(sentence), ragged.length(sentence));
}

/// What is left of the packed values for one sentence.
OpValues alone(const OpCase& op, const OpValues& packed, const HostMatrix& grad_output, int sentence) {
  OpValues values{.operands = packed.operands,
                  .tokens = ragged_of({packed.tokens.length(sentence)}),
                  .keys = ragged_of({packed.keys.length(sentence)}),
                  .heads = packed.heads};
  for (const auto& operand : op.operands) {
    auto& matrix = values.operands.at(operand.name);
    if (operand.of == RowsOf::tokens) matrix = rows_of(matrix, packed.tokens, sentence);
    if (operand.of == RowsOf::keys) matrix = rows_of(matrix, packed.keys, sentence);
  }
  const auto ids = packed.ids.begin() + packed.tokens.begin(sentence);
  values.ids.assign(ids, ids + packed.tokens.length(sentence));
  values.sentences = {packed.sentences[static_cast<size_t>(sentence)]};
  if (op.gradients != Gradients::none) values.grad_output = rows_of(grad_output, packed.tokens, sentence);
  return values;
}

void check_packing(const Machine& machine, const OpCase& op, const OpSizes& sizes) {
  OpValues packed = draw_values(op, sizes, 6);
  for (int i = 0; i < packed.tokens.sequences(); ++i) packed.sentences.push_back(1000 - 13 * i);
  const OpResult together = run_op(machine, op, packed);
  for (int i = 0; i < packed.tokens.sequences(); ++i) {
    if (packed.tokens.length(i) == 0) continue;
    const std::string what = machine.name + ", sentence " + std::to_string(i);
    const OpResult one = run_op(machine, op, alone(op, packed, together.grad_output, i));
    EXPECT_TRUE(one.output == rows_of(together.output, packed.tokens, i)) << what;
    for (const auto& operand : op.operands) {
      if (operand.of == RowsOf::weight || op.gradients == Gradients::none) continue;
      const Ragged& ragged = operand.of == RowsOf::tokens ? packed.tokens : packed.keys;
      EXPECT_TRUE(one.gradients.at(operand.name) == rows_of(together.gradients.at(operand.name), ragged, i))
          << what << ": gradient of " << operand.name;
    }
  }
}

/// With two threads, and on every instruction set with one.
void check_packing_on_cpu(const OpCase& op, const OpSizes& sizes) {
  check_packing(cpu(2), op, sizes);
  for (const int64_t target : InstructionSet::all()) {
    const InstructionSet set(target);
    Machine machine = cpu(1);
    machine.name += std::string(" on ") + hwy::TargetName(target);
    check_packing(machine, op, sizes);
  }
}

TEST_P(Packing, LeavesTheReferenceAsItIs) { check_packing(reference_f32(), GetParam(), small_sizes()); }
TEST_P(Packing, LeavesTheCpuAsItIs) { check_packing_on_cpu(GetParam(), small_sizes()); }
TEST_P(PackingOfLarge, LeavesTheCpuAsItIs) { check_packing_on_cpu(GetParam(), uneven_sizes()); }

}  // namespace
}  // namespace sixfold
