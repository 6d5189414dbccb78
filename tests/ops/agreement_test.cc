// The cpu backend against the reference, and with one thread against two.
#include <gtest/gtest.h>

#include "close.h"
#include "instruction_sets.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

void expect_agreement(const OpResult& actual, const OpResult& expected, double tolerance,
                      const std::string& what) {
  expect_close(actual.output, expected.output, tolerance, what + ": output");
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size()) << what;
  for (const auto& [name, gradient] : actual.gradients)
    expect_close(gradient, expected.gradients.at(name), tolerance, what + ": gradient of " + name);
}

void expect_same_bits(const OpResult& actual, const OpResult& expected, const std::string& what) {
  EXPECT_TRUE(actual.output == expected.output) << what << ": output";
  for (const auto& [name, gradient] : actual.gradients)
    EXPECT_TRUE(gradient == expected.gradients.at(name)) << what << ": gradient of " << name;
}

// In fp64, the reference is taken to be exact.
void expect_agreement_of_cpu_with_reference(const OpCase& op, const OpSizes& sizes) {
  const OpValues values = draw_values(op, sizes, 4);
  const OpResult exact = run_op(reference_f64(), op, values);
  const OpResult one = run_op(cpu(1), op, values), two = run_op(cpu(2), op, values);
  expect_agreement(one, exact, 1e-5, op.name);
  expect_same_bits(two, one, op.name + " with two threads");
  for (const int64_t target : InstructionSet::all()) {
    const InstructionSet set(target);
    expect_agreement(run_op(cpu(1), op, values), exact, 1e-5, op.name + " on " + hwy::TargetName(target));
  }
}

class Agreement : public testing::TestWithParam<OpCase> {};
class AgreementOfLarge : public Agreement {};

INSTANTIATE_TEST_SUITE_P(Ops, Agreement, testing::ValuesIn(op_cases(small_sizes())), name_of_case);
INSTANTIATE_TEST_SUITE_P(Ops, AgreementOfLarge, testing::ValuesIn(op_cases(uneven_sizes())), name_of_case);

TEST_P(Agreement, OfCpuWithReference) { expect_agreement_of_cpu_with_reference(GetParam(), small_sizes()); }
TEST_P(Agreement, OfReferenceInFp32WithFp64) {
  const OpValues values = draw_values(GetParam(), small_sizes(), 4);
  expect_agreement(run_op(reference_f32(), GetParam(), values), run_op(reference_f64(), GetParam(), values),
                   1e-5, GetParam().name);
}
TEST_P(AgreementOfLarge, OfCpuWithReference) {
  expect_agreement_of_cpu_with_reference(GetParam(), uneven_sizes());
}

// What an op gives the backend lies in the backend's memory, and the host touches none of it.
TEST_P(Agreement, OfDiscreteMemoryWithTheHosts) {
  const OpCase& op = GetParam();
  const OpValues values = draw_values(op, small_sizes(), 4);
  for (const Machine& host : {reference_f64(), reference_f32()}) {
    const OpResult expected = run_op(host, op, values);
    expect_same_bits(run_op(discrete(host.dtype), op, values), expected, op.name + " in discrete memory");
  }
}

// A backend without fused kernels gives what one with them gives.
TEST_P(Agreement, OfComposedWithFusedKernels) {
  const OpCase& op = GetParam();
  const OpValues values = draw_values(op, small_sizes(), 4);
  const Machine composing = discrete(DType::f64, /*fused=*/false);
  expect_same_bits(run_op(composing, op, values), run_op(reference_f64(), op, values), op.name + ", composed");
  const bool has_fused = op.name.find("residual_norm") == 0 || op.name.find("residual_rms_norm") == 0 ||
                         op.name == "feed_forward" || op.name == "feed_forward_dropped" ||
                         op.name == "feed_forward_adapted";
  EXPECT_EQ(static_cast<DiscreteBackend&>(*composing.backend).composed() > 0, has_fused);
}

}  // namespace
}  // namespace sixfold
