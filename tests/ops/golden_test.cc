// Every op against what PyTorch computes (tests/goldens/make_op_goldens.py).
#include <gtest/gtest.h>

#include "close.h"
#include "golden_file.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

/// The packed batch that a golden case names `<prefix>offsets`, or one sequence of all rows.
Ragged golden_rows(const GoldenFile& file, const std::string& golden, const std::string& prefix, int64_t rows) {
  const std::string name = golden + "/" + prefix + "offsets";
  return file.has(name) ? file.ragged(name) : ragged_of({static_cast<int>(rows)});
}

OpValues golden_values(const GoldenFile& file, const OpCase& op, const std::string& golden) {
  OpValues values{.operands = {}, .tokens = {}, .keys = {}};
  for (const auto& operand : op.operands)
    values.operands[operand.name] = file.matrix(golden + "/" + operand.name);
  const bool attention = values.operands.count("q") > 0;
  if (attention) {
    values.tokens = golden_rows(file, golden, "q_", values.operands["q"].rows);
    values.keys = golden_rows(file, golden, "k_", values.operands["k"].rows);
  } else {
    values.tokens = golden_rows(file, golden, "", values.operands.begin()->second.rows);
  }
  if (file.has(golden + "/heads")) values.heads = static_cast<int>(file.number(golden + "/heads"));
  for (const char* ids : {"/ids", "/targets"})
    if (file.has(golden + ids)) values.ids = file.ids(golden + ids);
  if (file.has(golden + "/grad_output")) values.grad_output = file.matrix(golden + "/grad_output");
  return values;
}

void check_golden(const OpCase& op, const std::string& golden) {
  const GoldenFile file("ops");
  const OpValues values = golden_values(file, op, golden);
  for (const auto& [machine, tolerance] :
       {std::pair(reference_f64(), 1e-9), std::pair(cpu(1), 1e-5), std::pair(cpu(2), 1e-5)}) {
    const std::string what = machine.name + ", " + golden;
    const OpResult result = run_op(machine, op, values);
    expect_close(result.output, file.matrix(golden + "/output"), tolerance, what);
    if (values.grad_output.values.empty()) continue;
    for (const auto& [name, gradient] : result.gradients)
      expect_close(gradient, file.matrix(golden + "/grad_" + name), tolerance, what + ": gradient of " + name);
  }
}

class Golden : public testing::TestWithParam<OpCase> {};

INSTANTIATE_TEST_SUITE_P(Ops, Golden, testing::ValuesIn([] {
                           auto cases = op_cases(small_sizes());
                           std::erase_if(cases, [](const OpCase& op) { return op.goldens.empty(); });
                           return cases;
                         }()),
                         name_of_case);

TEST_P(Golden, IsMatched) {
  for (const auto& golden : GetParam().goldens) check_golden(GetParam(), golden);
}

/// max(0, x W^T + b), as a feed-forward network whose second map is the identity.
TEST(GoldenOf, LinearWithRelu) {
  const OpCase op{.name = "linear_relu",
                  .operands = {{"x", RowsOf::tokens, 0, 0},
                               {"weight", RowsOf::weight, 0, 0},
                               {"bias", RowsOf::weight, 0, 0}},
                  .run = [](Context& context, const OpArguments& a) {
                    const int64_t n = a["weight"].rows();
                    HostMatrix identity{n, n, std::vector<double>(static_cast<size_t>(n * n))};
                    for (int64_t i = 0; i < n; ++i) identity.values[static_cast<size_t>(i * n + i)] = 1;
                    const HostMatrix zeros{1, n, std::vector<double>(static_cast<size_t>(n))};
                    const auto constant = [&](const HostMatrix& matrix) {
                      Tensor tensor = context.tensor(matrix.rows, matrix.cols, a["x"].dtype());
                      tensor.copy_from(context.backend(), matrix.values);
                      return tensor;
                    };
                    return ops::feed_forward(context, a["x"],
                                             {a["weight"], a["bias"], constant(identity), constant(zeros)});
                  }};
  check_golden(op, "linear_relu");
}

TEST(GoldenOf, LogProbabilities) {
  const GoldenFile file("ops");
  for (const char* golden : {"cross_entropy", "cross_entropy_plain", "cross_entropy_large"})
    for (const auto& [machine, tolerance] : {std::pair(reference_f64(), 1e-9), std::pair(cpu(1), 1e-5)}) {
      const OpCase op{.name = "log_probability",
                      .operands = {{"x", RowsOf::tokens, 0, 0}, {"weight", RowsOf::weight, 0, 0}},
                      .run =
                          [](Context& context, const OpArguments& a) {
                            return ops::log_probability(context, a["x"], {a["weight"], {}}, a.ids);
                          },
                      .gradients = Gradients::none};
      HostMatrix expected = file.matrix(std::string(golden) + "/log_probabilities");
      std::swap(expected.rows, expected.cols);
      expect_close(run_op(machine, op, golden_values(file, op, golden)).output, expected, tolerance, golden);
    }
}

TEST(GoldenOf, AttentionWeights) {
  const GoldenFile file("ops");
  const auto cases = op_cases(small_sizes());
  const auto op =
      std::find_if(cases.begin(), cases.end(), [](const OpCase& c) { return c.name == "attention_weights"; });
  const OpValues values = golden_values(file, *op, "attention_cross");
  const OpResult result = run_op(reference_f64(), *op, values);
  for (int i = 0; i < values.tokens.sequences(); ++i) {
    const auto expected = doubles_of(SafetensorsFile::open(SIXFOLD_TEST_GOLDENS "/ops.safetensors")
                                         .at("attention_cross/weights." + std::to_string(i)));
    size_t next = 0;
    for (int head = 0; head < values.heads; ++head)
      for (int q = values.tokens.begin(i); q < values.tokens.begin(i + 1); ++q)
        for (int key = 0; key < values.keys.length(i); ++key) {
          const int64_t row = head * values.tokens.tokens() + q;
          EXPECT_NEAR(result.output.values[static_cast<size_t>(row * result.output.cols + key)],
                      expected[next++], 1e-12);
        }
  }
}

void check_adam(const Machine& machine, const std::string& golden, double tolerance) {
  const GoldenFile file("ops");
  const auto number = [&](const char* name) { return file.number(golden + "/" + name); };
  const HostMatrix initial = file.matrix(golden + "/parameter"), gradients = file.matrix(golden + "/gradients"),
                   rates = file.matrix(golden + "/learning_rates"), after = file.matrix(golden + "/after");
  const auto memory = lasting_memory(machine.backend);
  const auto upload_row = [&](const HostMatrix& row) {
    return tensor_of(row, *machine.backend, memory, machine.dtype);
  };
  const HostMatrix zeros{1, initial.cols, std::vector<double>(initial.values.size())};
  const Tensor weight = upload_row(initial), moment1 = upload_row(zeros), moment2 = upload_row(zeros);
  for (int64_t step = 1; step <= gradients.rows; ++step) {
    const Tensor gradient = upload_row(gradients.slice_rows(step - 1, 1));
    machine.backend->run(kernel::Adam{.weight = weight.view(),
                                      .gradient = gradient.view(),
                                      .moment1 = moment1.view(),
                                      .moment2 = moment2.view(),
                                      .average = {},
                                      .learning_rate = rates.values[static_cast<size_t>(step - 1)],
                                      .beta1 = number("beta1"),
                                      .beta2 = number("beta2"),
                                      .epsilon = number("epsilon"),
                                      .weight_decay = number("weight_decay"),
                                      .average_decay = 0,
                                      .step = step});
    expect_close(host_copy(weight, *machine.backend), after.slice_rows(step - 1, 1), tolerance,
                 machine.name + ", " + golden + ", step " + std::to_string(step));
  }
}

TEST(GoldenOf, Adam) {
  for (const char* golden : {"adam", "adamw"}) {
    check_adam(reference_f64(), golden, 1e-9);
    check_adam(cpu(1), golden, 1e-5);
  }
}

}  // namespace
}  // namespace sixfold
