// Every op's backward against finite differences, in fp64.
#include <gtest/gtest.h>

#include "close.h"
#include "error_message.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

class Gradient : public testing::TestWithParam<OpCase> {};

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn([] {
                           auto cases = op_cases(small_sizes());
                           std::erase_if(cases,
                                         [](const OpCase& op) { return op.gradients == Gradients::none; });
                           return cases;
                         }()),
                         name_of_case);

double inner_product(const HostMatrix& a, const HostMatrix& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

/// d(sum of output * grad_output) / d(operand), by central differences.
HostMatrix numeric_gradient(const OpCase& op, OpValues values, const std::string& operand,
                            const HostMatrix& grad_output) {
  constexpr double step = 1e-5;
  const Machine machine = reference_f64();
  HostMatrix gradient = values.operands.at(operand);
  auto& elements = values.operands.at(operand).values;
  for (size_t i = 0; i < elements.size(); ++i) {
    const double kept = elements[i];
    const auto at = [&](double value) {
      elements[i] = value;
      return inner_product(run_op(machine, op, values, /*backwards=*/false).output, grad_output);
    };
    gradient.values[i] = (at(kept + step) - at(kept - step)) / (2 * step);
    elements[i] = kept;
  }
  return gradient;
}

void check_gradients(const OpCase& op) {
  const OpValues values = draw_values(op, small_sizes(), 1);
  const OpResult result = run_op(reference_f64(), op, values);
  for (const auto& [name, gradient] : result.gradients)
    expect_close(gradient, numeric_gradient(op, values, name, result.grad_output), 1e-7, op.name + ": " + name);
}

TEST_P(Gradient, IsThatOfFiniteDifferences) { check_gradients(GetParam()); }

OpCase chain_of_ops(Tensor (*run)(Context&, const OpArguments&)) {
  const int d_model = small_sizes().d_model;
  return {.name = "chain",
          .operands = {{"x", RowsOf::tokens, 0, d_model},
                       {"weight", RowsOf::weight, d_model, d_model},
                       {"bias", RowsOf::weight, 1, d_model}},
          .run = run};
}

/// Like check_gradients, for several ops on one tape.
void check_chain(const OpCase& op) {
  const OpValues values = draw_values(op, small_sizes(), 2);
  const Machine machine = reference_f64();
  const auto arena = std::make_shared<Arena>(machine.backend);
  Tape tape;
  Context context(machine.backend, arena, tape, {.seed = 7, .update = 3});
  const OpArguments arguments = upload(values, context, arena, machine.dtype);
  const Tensor output = op.run(context, arguments);
  const HostMatrix grad_output = HostMatrix::normal(output.rows(), output.cols(), 99);
  output.set_gradient(tensor_of(grad_output, *machine.backend, arena, machine.dtype));
  tape.backward();
  for (const auto& [name, tensor] : arguments.operands)
    expect_close(host_copy(tensor.gradient(), *machine.backend),
                 numeric_gradient(op, values, name, grad_output), 1e-7, name);
}

TEST(GradientOfChains, AddsUpWhereATensorHasSeveralReaders) {
  check_chain(chain_of_ops([](Context& context, const OpArguments& a) {
    const Tensor y = ops::linear(context, a["x"], a["weight"], a["bias"]);
    const Tensor z =
        ops::residual_norm(context, a["x"], {y, context.dropout(test_dropout, a.rows)}, {a["bias"], a["bias"]});
    const Tensor dropped = ops::dropout(context, {a["x"], context.dropout(test_dropout, a.rows)});
    return ops::add(context, ops::add(context, z, dropped), ops::add(context, a["x"], a["x"]));
  }));
}

TEST(GradientOfChains, FlowsThroughAWeightThatIsUsedTwice) {
  check_chain(chain_of_ops([](Context& context, const OpArguments& a) {
    const Tensor hidden = ops::feed_forward(context, a["x"], {a["weight"], a["bias"], a["weight"], a["bias"]});
    return ops::linear(context, ops::norm(context, hidden, {a["bias"], a["bias"]}), a["weight"], a["bias"]);
  }));
}

TEST(GradientOfChains, AttentionOverItsOwnProjections) {
  check_chain(chain_of_ops([](Context& context, const OpArguments& a) {
    const auto project = [&] { return ops::linear(context, a["x"], a["weight"], a["bias"]); };
    const auto pattern = ops::attention_pattern(context, a.rows.ragged, a.rows.ragged, /*causal=*/true);
    return ops::attention(context, {project(), project(), project(), a.heads}, pattern,
                          context.dropout(test_dropout, a.rows));
  }));
}

TEST(GradientOfChains, AttentionOfATensorOverItself) {
  check_chain(chain_of_ops([](Context& context, const OpArguments& a) {
    const auto pattern = ops::attention_pattern(context, a.rows.ragged, a.rows.ragged, /*causal=*/false);
    const Tensor y = ops::linear(context, a["x"], a["weight"], a["bias"]);
    return ops::attention(context, {y, y, a["x"], 2}, pattern);
  }));
}

/// A residual overwrites its branch, but not what a backward function reads.
TEST(GradientOfChains, TheBranchOfAResidualMayHaveBeenRead) {
  check_chain(chain_of_ops([](Context& context, const OpArguments& a) {
    const ops::NormWeights norm{a["bias"], a["bias"]};
    const PendingDropout y{ops::linear(context, a["x"], a["weight"], a["bias"]), {}};
    const Tensor read = ops::linear(context, y.x, a["weight"], a["bias"]);
    return ops::add(context, ops::residual_norm(context, a["x"], y, norm), read);
  }));
}

TEST(GradientOfChains, TheBranchOfAResidualCannotBeReadAfterwards) {
  const OpCase op = chain_of_ops([](Context& context, const OpArguments& a) {
    const PendingDropout y{ops::linear(context, a["x"], a["weight"], a["bias"]), {}};
    const Tensor z = ops::residual_norm(context, a["x"], y, {a["bias"], a["bias"]});
    return ops::add(context, z, ops::linear(context, y.x, a["weight"], a["bias"]));
  });
  EXPECT_NE(error_message([&] { check_chain(op); }).find("an earlier op has overwritten"), std::string::npos);
}

OpResult gradients_of(const Machine& machine, const OpCase& op, const OpValues& values,
                      const std::function<Tensor(Context&, const OpArguments&, Tensor)>& then) {
  const auto arena = std::make_shared<Arena>(machine.backend);
  Tape tape;
  Context context(machine.backend, arena, tape, {.seed = 7, .update = 3});
  const OpArguments arguments = upload(values, context, arena, machine.dtype);
  const Tensor output = then(context, arguments, op.run(context, arguments));
  output.set_gradient(
      tensor_of(HostMatrix::normal(output.rows(), output.cols(), 99), *machine.backend, arena, machine.dtype));
  tape.backward();
  OpResult result{.output = host_copy(output, *machine.backend), .grad_output = {}, .gradients = {}};
  for (const auto& [name, tensor] : arguments.operands)
    result.gradients[name] = host_copy(tensor.gradient(), *machine.backend);
  return result;
}

void expect_same_gradients(const OpResult& actual, const OpResult& expected, const Machine& machine) {
  for (const auto& [name, gradient] : actual.gradients)
    EXPECT_TRUE(gradient == expected.gradients.at(name)) << machine.name << ": " << name;
}

/// What an op says that it reads is all that it reads: whatever else may be overwritten is.
TEST_P(Gradient, ReadsOnlyWhatItKeeps) {
  const OpCase& op = GetParam();
  if (op.gradients != Gradients::by_tape) return;
  const OpValues values = draw_values(op, small_sizes(), 4);
  for (const Machine& machine : {reference_f64(), cpu(2)}) {
    const auto run = [&](bool overwrite) {
      return gradients_of(machine, op, values, [&](Context&, const OpArguments& a, const Tensor& output) {
        std::vector<Tensor> tensors{output};
        for (const auto& [name, tensor] : a.operands) tensors.push_back(tensor);
        for (const Tensor& tensor : tensors)
          if (overwrite && !tensor.kept()) machine.backend->run(kernel::Fill{tensor.view(), 1e9});
        return output;
      });
    };
    const OpResult expected = run(false), actual = run(true);
    expect_same_gradients(actual, expected, machine);
  }
}

/// An op has the same gradients whether or not a residual's sum takes the place of its output.
TEST_P(Gradient, IsTheSameBeforeAResidual) {
  const OpCase& op = GetParam();
  if (op.gradients != Gradients::by_tape) return;
  const OpValues values = draw_values(op, small_sizes(), 4);
  for (const Machine& machine : {reference_f64(), cpu(2)}) {
    const auto run = [&](bool copy) {
      return gradients_of(machine, op, values, [&](Context& context, const OpArguments&, const Tensor& output) {
        const Tensor y = copy ? ops::slice_rows(context, output, 0, output.rows()) : output;
        const Tensor x = context.zeros(y.rows(), y.cols(), y.dtype());
        const Tensor weight = context.zeros(1, y.cols(), y.dtype());
        machine.backend->run(kernel::Fill{weight.view(), 1});
        return ops::residual_norm(context, x, {y, {}}, {.weight = weight});
      });
    };
    const OpResult expected = run(true), actual = run(false);
    EXPECT_TRUE(actual.output == expected.output) << machine.name;
    expect_same_gradients(actual, expected, machine);
  }
}

/// An operand that needs no gradient gets none, and changes none of the others'.
TEST_P(Gradient, OfAnOperandIsTheSameWhereOthersAreFrozen) {
  const OpCase& op = GetParam();
  const OpValues values = draw_values(op, small_sizes(), 4);
  for (const Machine& machine : {reference_f64(), cpu(2)}) {
    const OpResult all = run_op(machine, op, values);
    for (const auto& [frozen, unused] : all.gradients) {
      const auto arena = std::make_shared<Arena>(machine.backend);
      Tape tape;
      Context context(machine.backend, arena, tape, {.seed = 7, .update = 3});
      OpArguments arguments = upload(values, context, arena, machine.dtype);
      arguments.operands.at(frozen).set_requires_grad(false);
      const Tensor output = op.run(context, arguments);
      if (op.gradients == Gradients::by_tape && output.requires_grad()) {
        output.set_gradient(tensor_of(all.grad_output, *machine.backend, arena, machine.dtype));
        tape.backward();
      }
      EXPECT_FALSE(arguments.operands.at(frozen).gradient()) << frozen;
      for (const auto& [name, tensor] : arguments.operands)
        if (name != frozen && output.requires_grad()) {
          ASSERT_TRUE(tensor.gradient()) << name << " without " << frozen;
          EXPECT_TRUE(host_copy(tensor.gradient(), *machine.backend) == all.gradients.at(name))
              << name << " without " << frozen;
        }
    }
  }
}

/// The gradient of some states after the cross entropy was taken of them so often.
HostMatrix gradient_of_states(const ops::LossOptions& options, int losses = 1) {
  const Machine machine = reference_f64();
  const auto arena = std::make_shared<Arena>(machine.backend);
  Tape tape;
  Context context(machine.backend, arena, tape, {});
  Tensor states = tensor_of(HostMatrix::normal(3, 4, 1), *machine.backend, arena, machine.dtype);
  const Tensor weight = tensor_of(HostMatrix::normal(7, 4, 2), *machine.backend, arena, machine.dtype);
  states.set_requires_grad(true);
  for (int i = 0; i < losses; ++i)
    ops::cross_entropy(context, states, {weight, {}}, context.indices(std::vector<int32_t>{1, 6, 0}), options);
  return host_copy(states.gradient(), *machine.backend);
}

HostMatrix scaled(HostMatrix matrix, double factor) {
  for (double& value : matrix.values) value *= factor;
  return matrix;
}

TEST(GradientOfLoss, AddsToThatOfAnotherReaderOfTheStates) {
  expect_close(gradient_of_states({}, 3), scaled(gradient_of_states({}), 3), 1e-14, "states");
}

TEST(GradientOfLoss, IsScaled) {
  expect_close(gradient_of_states({.label_smoothing = 0.1, .scale = 0.25}),
               scaled(gradient_of_states({.label_smoothing = 0.1, .scale = 1}), 0.25), 1e-14, "states");
}

// Gradient accumulation: what a weight got from one batch stays when the next one comes.
TEST_P(Gradient, OfWeightsAccumulates) {
  const OpCase& op = GetParam();
  const OpValues values = draw_values(op, small_sizes(), 3);
  const Machine machine = reference_f64();
  const auto arena = std::make_shared<Arena>(machine.backend);
  std::map<std::string, Tensor> weights;
  const OpResult once = run_op(machine, op, values);
  for (int batch = 0; batch < 2; ++batch) {
    Tape tape;
    Context context(machine.backend, arena, tape, {.seed = 7, .update = 3});
    OpArguments arguments = upload(values, context, arena, machine.dtype);
    for (const auto& operand : op.operands) {
      if (operand.of != RowsOf::weight) continue;
      if (batch == 0) weights[operand.name] = arguments[operand.name];
      arguments.operands[operand.name] = weights.at(operand.name);
    }
    const Tensor output = op.run(context, arguments);
    if (op.gradients == Gradients::by_tape)
      output.set_gradient(tensor_of(once.grad_output, *machine.backend, arena, machine.dtype));
    tape.backward();
  }
  for (const auto& [name, weight] : weights) {
    HostMatrix twice = once.gradients.at(name);
    for (double& value : twice.values) value *= 2;
    expect_close(host_copy(weight.gradient(), *machine.backend), twice, 1e-13, op.name + ": " + name);
  }
}

}  // namespace
}  // namespace sixfold
