#pragma once
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "discrete_backend.h"
#include "op_cases.h"

namespace sixfold {

/// A backend and the type it computes in.
struct Machine {
  std::string name;
  std::shared_ptr<Backend> backend;
  DType dtype;
};

inline Machine reference_f64() {
  return {"reference in fp64", make_backend({.device = "reference"}), DType::f64};
}
inline Machine reference_f32() {
  return {"reference in fp32", make_backend({.device = "reference"}), DType::f32};
}
inline Machine cpu(int threads) {
  return {"cpu with " + std::to_string(threads) + " threads", make_backend({.threads = threads}), DType::f32};
}

/// The reference over memory that the host can't touch, bit for bit what the reference gives; `fused` as there.
inline Machine discrete(DType dtype, bool fused = true) {
  return {"discrete memory", std::make_shared<DiscreteBackend>(fused), dtype};
}

inline HostMatrix host_copy(const Tensor& tensor, Backend& backend) {
  return {tensor.rows(), tensor.cols(), tensor.to_doubles(backend)};
}

/// What came out of an op, and the gradients of its operands.
struct OpResult {
  HostMatrix output;
  HostMatrix grad_output;  ///< the gradient that was sent back
  std::map<std::string, HostMatrix> gradients;
};

/// Runs an op in a pass that records; where asked, walks back from a gradient of its output.
inline OpResult run_op(const Machine& machine, const OpCase& op, const OpValues& values,
                       bool backwards = true) {
  Backend& backend = *machine.backend;
  const auto arena = std::make_shared<Arena>(machine.backend);
  Tape tape;
  Context context(machine.backend, arena, tape, {.seed = 7, .update = 3});
  const OpArguments arguments = upload(values, context, arena, machine.dtype);
  const Tensor output = op.run(context, arguments);
  OpResult result{.output = host_copy(output, backend), .grad_output = values.grad_output, .gradients = {}};
  if (op.gradients == Gradients::none || !backwards) return result;

  if (result.grad_output.values.empty())
    result.grad_output = op.gradients == Gradients::by_itself
                             ? HostMatrix{1, 1, {1.0}}
                             : HostMatrix::normal(output.rows(), output.cols(), 99);
  if (op.gradients == Gradients::by_tape) {
    EXPECT_TRUE(output.requires_grad()) << op.name;
    EXPECT_EQ(op.composed, tape.nodes().size() != 1u) << op.name;
    output.set_gradient(tensor_of(result.grad_output, backend, arena, machine.dtype));
    tape.backward();
  }
  for (const auto& [name, tensor] : arguments.operands) {
    EXPECT_TRUE(tensor.gradient()) << op.name << ": no gradient of " << name;
    if (tensor.gradient()) result.gradients[name] = host_copy(tensor.gradient(), backend);
  }
  return result;
}

inline std::string name_of_case(const testing::TestParamInfo<OpCase>& info) { return info.param.name; }
inline void PrintTo(const OpCase& op, std::ostream* out) { *out << op.name; }

}  // namespace sixfold
