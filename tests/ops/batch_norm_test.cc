#include <gtest/gtest.h>

#include "error_message.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

constexpr int64_t norm_width = 20;

HostMatrix row_of(double value) { return {1, norm_width, std::vector<double>(norm_width, value)}; }

/// A batch norm with weights of 1, no bias and hardly an epsilon, and its buffers.
struct SmallNorm {
  explicit SmallNorm(const Machine& on) : machine(on) {
    const auto memory = lasting_memory(machine.backend);
    const auto row = [&](double value) {
      Tensor tensor = tensor_of(row_of(value), *machine.backend, memory, machine.dtype);
      return tensor;
    };
    weights = {.weight = row(1),
               .bias = row(0),
               .running_mean = row(0.25),
               .running_variance = row(4),
               .epsilon = 1e-12,
               .momentum = 0.25};
  }

  HostMatrix operator()(const HostMatrix& x, Context& context, ops::Statistics statistics) const {
    const auto memory = lasting_memory(machine.backend);
    return host_copy(
        ops::batch_norm(context, tensor_of(x, *machine.backend, memory, machine.dtype), weights, statistics),
        *machine.backend);
  }
  HostMatrix of_batch(const HostMatrix& x) const {
    Context context(machine.backend, std::make_shared<Arena>(machine.backend));
    return (*this)(x, context, ops::Statistics::batch);
  }
  HostMatrix mean() const { return host_copy(weights.running_mean, *machine.backend); }
  HostMatrix variance() const { return host_copy(weights.running_variance, *machine.backend); }

  const Machine& machine;
  ops::BatchNormWeights weights;
};

double at(const HostMatrix& x, int64_t row, int64_t col) {
  return x.values[static_cast<size_t>(row * x.cols + col)];
}

/// The mean of a column, and the mean of its squared distances from that.
std::pair<double, double> moments(const HostMatrix& x, int64_t col) {
  double mean = 0, variance = 0;
  for (int64_t r = 0; r < x.rows; ++r) mean += at(x, r, col) / static_cast<double>(x.rows);
  for (int64_t r = 0; r < x.rows; ++r)
    variance += std::pow(at(x, r, col) - mean, 2) / static_cast<double>(x.rows);
  return {mean, variance};
}

HostMatrix changed(HostMatrix x, double factor, double summand) {
  for (double& value : x.values) value = value * factor + summand;
  return x;
}

TEST(BatchNorm, EachFeatureHasMeanZeroAndVarianceOne) {
  for (const auto& [machine, tolerance] : {std::pair(reference_f64(), 1e-9), std::pair(cpu(2), 1e-5)}) {
    const HostMatrix y = SmallNorm(machine).of_batch(changed(HostMatrix::normal(300, norm_width, 1), 5, 20));
    for (int64_t c = 0; c < norm_width; ++c) {
      const auto [mean, variance] = moments(y, c);
      EXPECT_NEAR(mean, 0, tolerance);
      EXPECT_NEAR(variance, 1, tolerance);
    }
  }
}

/// It sees neither the scale of a feature nor a shift of it.
TEST(BatchNorm, IsBlindToScaleAndShiftOfAFeature) {
  const Machine machine = reference_f64();
  const HostMatrix x = HostMatrix::normal(7, norm_width, 1);
  HostMatrix other = x;
  for (int64_t r = 0; r < other.rows; ++r)
    for (int64_t c = 0; c < norm_width; ++c) {
      double& value = other.values[static_cast<size_t>(r * norm_width + c)];
      value = value * static_cast<double>(c + 1) - 3 * static_cast<double>(c);
    }
  const HostMatrix a = SmallNorm(machine).of_batch(x), b = SmallNorm(machine).of_batch(other);
  for (size_t i = 0; i < a.values.size(); ++i) EXPECT_NEAR(a.values[i], b.values[i], 1e-9);
}

/// In training a row depends on its neighbours; by running averages it does not.
TEST(BatchNorm, OnlyTheStatisticsOfTheBatchSeeTheNeighbours) {
  const Machine machine = cpu(1);
  const SmallNorm norm(machine);
  const HostMatrix x = HostMatrix::normal(9, norm_width, 1);
  for (const auto statistics : {ops::Statistics::batch, ops::Statistics::running}) {
    Context context(machine.backend, std::make_shared<Arena>(machine.backend));
    const HostMatrix all = norm(x, context, statistics), first = norm(x.slice_rows(0, 3), context, statistics);
    EXPECT_EQ(first == all.slice_rows(0, 3), statistics == ops::Statistics::running);
  }
}

/// Running averages wait: the op only says what they are to become.
TEST(BatchNorm, LeavesTheBuffersAndTellsWhatTheyBecome) {
  for (const Machine& machine : {reference_f64(), discrete(DType::f64)}) {
    const SmallNorm norm(machine);
    const HostMatrix x = changed(HostMatrix::normal(11, norm_width, 1), 3, 1);
    Tape tape;
    Context recording(machine.backend, std::make_shared<Arena>(machine.backend), tape, {});
    norm(x, recording, ops::Statistics::batch);
    EXPECT_TRUE(norm.mean() == row_of(0.25));
    EXPECT_TRUE(norm.variance() == row_of(4));
    const std::vector<BufferUpdate> updates = recording.take_deferred();
    ASSERT_EQ(updates.size(), 2u);
    EXPECT_TRUE(updates[0].buffer.same_as(norm.weights.running_mean));
    EXPECT_TRUE(updates[1].buffer.same_as(norm.weights.running_variance));
    const HostMatrix mean = host_copy(updates[0].statistic, *machine.backend),
                     variance = host_copy(updates[1].statistic, *machine.backend);
    for (int64_t c = 0; c < norm_width; ++c) {
      const auto [m, v] = moments(x, c);
      EXPECT_NEAR(at(mean, 0, c) * updates[0].factor, m, 1e-12);
      EXPECT_NEAR(at(variance, 0, c) * updates[1].factor, v * 11 / 10, 1e-12);
    }
    EXPECT_EQ(updates[0].momentum, 0.25);
    EXPECT_TRUE(recording.take_deferred().empty());

    norm(x, recording, ops::Statistics::running);
    EXPECT_TRUE(recording.take_deferred().empty());
    Context context(machine.backend, std::make_shared<Arena>(machine.backend));
    norm(x, context, ops::Statistics::batch);
    EXPECT_TRUE(context.take_deferred().empty());
  }
}

TEST(BatchNorm, RefusesASingleToken) {
  const Machine machine = reference_f64();
  const SmallNorm norm(machine);
  for (const int64_t rows : {0, 1}) {
    const std::string message = error_message([&] { norm.of_batch(HostMatrix::normal(rows, norm_width, 1)); });
    for (const char* key : {"norm: 'batch'", "at least 2", "data.batch_tokens", "data.micro_batch_tokens"})
      EXPECT_NE(message.find(key), std::string::npos) << message;
  }
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  EXPECT_EQ(norm(HostMatrix::normal(1, norm_width, 1), context, ops::Statistics::running).rows, 1);
}

}  // namespace
}  // namespace sixfold
