#include "model/layers/pooling.h"

#include <gtest/gtest.h>

#include "close.h"
#include "golden_file.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

/// Pools the golden states of three sequences.
HostMatrix pool(const Machine& machine, Pooling kind, const std::string& golden) {
  const GoldenFile file("ops");
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  ParameterBuilder builder(machine.backend, machine.dtype, 1);
  const HostMatrix x = file.matrix(golden + "/x");
  const SequencePooling pooling(builder, kind, static_cast<int>(x.cols));
  if (kind == Pooling::attention) {
    std::vector<Parameter> parameters = builder.take_parameters();
    parameters[0].tensor.copy_from(*machine.backend, file.matrix(golden + "/query").values);
  }
  Tensor states = context.tensor(x.rows, x.cols, machine.dtype);
  states.copy_from(*machine.backend, x.values);
  const Tensor pooled = pooling(states, context.token_rows(file.ragged(golden + "/offsets")), context);
  return {pooled.rows(), pooled.cols(), pooled.to_doubles(*machine.backend)};
}

class Poolings : public testing::TestWithParam<Pooling> {};

TEST_P(Poolings, AgreeWithPyTorch) {
  const std::string golden = "pooling_" + std::string(name_of_enum(GetParam()));
  const HostMatrix expected = GoldenFile("ops").matrix(golden + "/output");
  expect_close(pool(reference_f64(), GetParam(), golden), expected, 1e-9, golden);
  expect_close(pool(cpu(1), GetParam(), golden), expected, 1e-5, golden);
  EXPECT_TRUE(pool(cpu(1), GetParam(), golden) == pool(cpu(2), GetParam(), golden));
}

INSTANTIATE_TEST_SUITE_P(All, Poolings, testing::Values(Pooling::first, Pooling::mean, Pooling::attention),
                         [](const auto& kind) { return std::string(name_of_enum(kind.param)); });

}  // namespace
}  // namespace sixfold
