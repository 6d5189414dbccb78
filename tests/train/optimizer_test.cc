#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "close.h"
#include "golden_file.h"
#include "ops/run_op.h"
#include "temporary_folder.h"
#include "train/distributed/threads.h"

namespace sixfold {
namespace {

/// A case of tests/goldens/make_optimizer_goldens.py.
class GoldenSteps {
 public:
  explicit GoldenSteps(const std::string& name) : name_(name) {
    while (file_.has(key("weight", count_))) ++count_;
    const auto number = [&](const char* option) { return file_.number(name_ + "/" + option); };
    const auto has = [&](const char* option) { return file_.has(name_ + "/" + option); };
    options.kind = name.starts_with("sgd") ? OptimizerKind::sgd : OptimizerKind::adafactor;
    if (has("momentum")) options.momentum = number("momentum");
    if (has("nesterov")) options.nesterov = number("nesterov") != 0;
    if (has("weight_decay")) options.weight_decay = number("weight_decay");
    if (has("decay_rate")) options.decay_rate = number("decay_rate");
    if (has("clip_threshold")) options.clip_threshold = number("clip_threshold");
    if (has("scale_parameter")) options.scale_parameter = number("scale_parameter") != 0;
  }

  std::vector<Parameter> weights(const Machine& machine) const {
    std::vector<Parameter> weights;
    for (size_t i = 0; i < count_; ++i) {
      const HostMatrix initial = file_.matrix(key("weight", i));
      Tensor tensor = tensor_of(initial, *machine.backend, lasting_memory(machine.backend), machine.dtype);
      tensor.set_requires_grad(true);
      weights.push_back(
          {.name = "w" + std::to_string(i),
           .tensor = tensor,
           .shape = initial.rows > 1 ? std::vector{initial.rows, initial.cols} : std::vector{initial.cols}});
    }
    return weights;
  }
  std::vector<double> rates() const { return file_.matrix(name_ + "/rates").values; }
  /// With the gradients divided by `scale`.
  void step(Optimizer& optimizer, Backend& backend, size_t step, double scale = 1) const {
    for (size_t i = 0; i < count_; ++i) {
      std::vector<double> gradient = of_step("gradient", i, step);
      for (double& g : gradient) g /= scale;
      optimizer.gradients()[i].copy_from(backend, gradient);
    }
    optimizer.update(static_cast<int64_t>(step) + 1, rates()[step], scale);
  }
  std::vector<double> after(size_t weight, size_t step) const { return of_step("after", weight, step); }

  OptimizerOptions options;

 private:
  std::string key(const char* what, size_t i) const { return name_ + "/" + what + std::to_string(i); }
  std::vector<double> of_step(const char* what, size_t weight, size_t step) const {
    return file_.matrix(key(what, weight)).slice_rows(static_cast<int64_t>(step), 1).values;
  }

  GoldenFile file_{"optimizers"};
  std::string name_;
  size_t count_ = 0;
};

class OptimizerGolden : public testing::TestWithParam<const char*> {
 protected:
  static void check(const Machine& machine, double tolerance) {
    const GoldenSteps golden(GetParam());
    const std::vector<Parameter> weights = golden.weights(machine);
    Optimizer optimizer(machine.backend, weights, golden.options, 0);
    for (size_t step = 0; step < golden.rates().size(); ++step) {
      golden.step(optimizer, *machine.backend, step, /*scale=*/0.25);
      for (size_t i = 0; i < weights.size(); ++i) {
        HostMatrix actual = host_copy(weights[i].tensor, *machine.backend);
        actual.cols = std::exchange(actual.rows, 1) * actual.cols;
        expect_close(actual, {1, actual.cols, golden.after(i, step)}, tolerance,
                     fmt::format("{}, weight {}, step {}", machine.name, i, step));
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, OptimizerGolden,
                         testing::Values("sgd_plain", "sgd_momentum", "sgd_nesterov", "adafactor_plain",
                                         "adafactor_moment", "adafactor_scaled", "adafactor_clipped"));

TEST_P(OptimizerGolden, ReferenceInFp64) { check(reference_f64(), 1e-13); }
TEST_P(OptimizerGolden, ReferenceInFp32) { check(reference_f32(), 1e-6); }
TEST_P(OptimizerGolden, DiscreteInFp64) { check(discrete(DType::f64), 1e-13); }
TEST_P(OptimizerGolden, Cpu) { check(cpu(2), 1e-6); }

/// What is saved and loaded goes on with the same bits, whatever the number of processes is.
TEST_P(OptimizerGolden, ItsStateIsSavedAndSharedByProcesses) {
  const TemporaryFolder folder;
  const auto train_on = [&](int processes, size_t saved_after) {
    std::string state;
    on_processes(processes, [&](Processes& all) {
      const Machine machine = cpu(1);
      const GoldenSteps golden(GetParam());
      const std::vector<Parameter> weights = golden.weights(machine);
      const auto make = [&] {
        const auto exchange =
            std::make_shared<WeightExchange>(all, ShardTree(processes, processes), machine.backend, weights,
                                             WireType::fp32, Optimizer::owns_whole_weights(golden.options));
        return std::make_unique<Optimizer>(machine.backend, weights, golden.options, 0.9, exchange);
      };
      auto optimizer = make();
      for (size_t step = 0; step < golden.rates().size(); ++step) {
        golden.step(*optimizer, *machine.backend, step);
        if (step != saved_after) continue;
        const std::string path = folder / fmt::format("{}-{}", processes, saved_after);
        optimizer->save(all.is_root() ? path : "");
        all.any(false);  // the file is there
        optimizer = make();
        optimizer->load(path);
      }
      const std::string path = folder / "end";
      optimizer->save(all.is_root() ? path : "");
      if (!all.is_root()) return;
      state = read_file(path);
      for (const Parameter& weight : weights)
        for (const double w : weight.tensor.to_doubles(*machine.backend)) state += fmt::format("{} ", w);
    });
    return state;
  };
  const std::string whole = train_on(1, 100);
  EXPECT_TRUE(train_on(1, 1) == whole);
  for (const int processes : {2, 3, 7}) EXPECT_TRUE(train_on(processes, 2) == whole) << processes;
}

/// In elements of all weights: what the processes have at most.
TEST(Optimizer, StateOfAdafactorIsSmall) {
  const Machine machine = cpu(1);
  const auto weight = [&](int64_t rows, int64_t cols) {
    return Parameter{.name = "w", .tensor = Tensor(lasting_memory(machine.backend), rows, cols, DType::f32)};
  };
  const std::vector<Parameter> weights{weight(300, 200), weight(1, 200), weight(100, 200)};
  const auto elements = [&](OptimizerOptions options, double ema_decay, int processes) {
    return Optimizer(machine.backend, weights, options, ema_decay).state_bytes(processes) / 4;
  };
  const OptimizerOptions adafactor{.kind = OptimizerKind::adafactor}, sgd{.kind = OptimizerKind::sgd};
  EXPECT_EQ(elements({}, 0, 1), 2 * 80'200);
  EXPECT_EQ(elements({}, 0.9, 1), 3 * 80'200);
  EXPECT_EQ(elements(adafactor, 0, 1), 300 + 200 + 200 + 100 + 200);
  EXPECT_EQ(elements(adafactor, 0.9, 1), 1000 + 80'200);
  EXPECT_EQ(elements({.kind = OptimizerKind::adafactor, .momentum = 0.5}, 0, 1), 1000 + 80'200);
  EXPECT_EQ(elements(sgd, 0, 1), 0);
  EXPECT_EQ(elements({.kind = OptimizerKind::sgd, .momentum = 0.5}, 0, 1), 80'200);
  // The first weight is of one process, the others are of another.
  EXPECT_EQ(elements(adafactor, 0.9, 2), 500 + 60'000);
  EXPECT_NEAR(elements({}, 0, 2), 80'200, 2 * kernel::BlockSquares::block);  // half of two moments
}

}  // namespace
}  // namespace sixfold
