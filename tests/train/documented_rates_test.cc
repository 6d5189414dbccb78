// The tables of docs/optimizers.md.
#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "base/join.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace sixfold {
namespace {

/// The rows of the table of docs/optimizers.md whose settings are those of a group, as they should be:
/// `columns` returns what follows the settings. Compares them with what is there.
template <class Options, class Columns>
void expect_documented(const std::string& group, size_t count, const Columns& columns) {
  std::istringstream page(read_file(SIXFOLD_SOURCE_DIR "/docs/optimizers.md"));
  std::string line;
  while (std::getline(page, line) && !line.starts_with("| settings (`" + group + ".`)")) {
  }
  std::getline(page, line);  // the rule below the head
  size_t rows = 0;
  for (; std::getline(page, line) && line.starts_with("| `"); ++rows) {
    const std::string settings = line.substr(3, line.find('`', 3) - 3);
    OptionNode root{.kind = OptionNode::Kind::map};
    std::istringstream words(settings);
    for (std::string word; words >> word;) set_option(root, word);
    Options options;
    read_options(root, options);
    EXPECT_EQ(line, fmt::format("| `{}` | {} |", settings, join(columns(options), " | ")));
  }
  EXPECT_EQ(rows, count);
}

TEST(Documented, StepsOfOptimizers) {
  const auto backend = make_backend({.device = "reference"});
  const auto weight = [&](int64_t rows, int64_t cols) {
    Tensor tensor(lasting_memory(backend), rows, cols, DType::f32);
    return std::vector<Parameter>{{.name = "w", .tensor = tensor, .shape = {rows, cols}}};
  };
  expect_documented<OptimizerOptions>("optimizer", 15, [&](const OptimizerOptions& options) {
    std::vector<Parameter> small = weight(2, 2);
    small[0].tensor.copy_from(*backend, std::vector{0.1, 0.2, 0.3, 0.4});
    Optimizer optimizer(backend, small, options, 0);
    optimizer.gradients()[0].copy_from(*backend, std::vector{1.0, -2.0, 3.0, 0.5});
    optimizer.update(1, 0.1, 1);
    optimizer.gradients()[0].copy_from(*backend, std::vector{0.5, 1.0, -3.0, 2.0});
    optimizer.update(2, 0.1, 1);
    const std::vector<double> w = small[0].tensor.to_doubles(*backend);
    return std::vector{fmt::format("{:.4f} {:.4f} / {:.4f} {:.4f}", w[0], w[1], w[2], w[3]),
                       std::to_string(Optimizer(backend, weight(2048, 512), options, 0).state_bytes(1) / 4)};
  });
}

TEST(Documented, RatesOfSchedules) {
  expect_documented<ScheduleOptions>("schedule", 17, [](ScheduleOptions options) {
    options.warmup = 20;
    options.learning_rate = 0.01;
    TrainingState state;
    state.plan = {{0, 100}};
    std::vector<std::string> rates;
    for (int64_t update = 1; update <= 100; ++update) {
      const Schedule schedule(options, 512, state);
      for (const int64_t shown : {1, 10, 20, 60, 90, 100})
        if (update == shown) rates.push_back(fmt::format("{:.6f}", schedule.rate(update)));
      state.update = update;
      if (update % 10 == 0) schedule.record_validation(update <= 30, state);
    }
    return rates;
  });
}

}  // namespace
}  // namespace sixfold
