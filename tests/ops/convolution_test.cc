#include <gtest/gtest.h>

#include "error_message.h"
#include "ops/on_cpu.h"

namespace sixfold {
namespace {

constexpr int features = 5;

struct Convolutions : testing::Test, OnCpu {
  std::shared_ptr<const ops::AttentionPattern> whole(const Ragged& rows) {
    return ops::attention_pattern(context, rows, rows, /*causal=*/false);
  }
};

/// The row of x at each place + `by` of its sequence; zeros outside.
HostMatrix shifted(const HostMatrix& x, const Ragged& rows, int by) {
  HostMatrix result{x.rows, x.cols, std::vector<double>(x.values.size())};
  for (int i = 0; i < rows.sequences(); ++i)
    for (int p = 0; p < rows.length(i); ++p)
      if (p + by >= 0 && p + by < rows.length(i))
        std::copy_n(x.values.begin() + (rows.begin(i) + p + by) * x.cols, x.cols,
                    result.values.begin() + (rows.begin(i) + p) * x.cols);
  return result;
}

/// A filter with a single 1 moves each sequence, and nothing comes in from the neighbours.
TEST_F(Convolutions, AFilterWithASingleOneIsAShift) {
  const Ragged rows = ragged_of({7, 1, 0, 3});
  const HostMatrix x = HostMatrix::normal(11, features, 1);
  for (const ops::Window window : {ops::Window{1, 0}, ops::Window{3, 1}, ops::Window{4, 3}, ops::Window{9, 2}})
    for (int tap = 0; tap < window.size; ++tap) {
      HostMatrix filters{window.size, features,
                         std::vector<double>(static_cast<size_t>(window.size * features))};
      std::fill_n(filters.values.begin() + tap * features, features, 1.0);
      const HostMatrix expected = shifted(x, rows, tap - window.left);
      EXPECT_TRUE(host(ops::depthwise(context, tensor(x), {tensor(filters), {}, window.left}, whole(rows))) ==
                  expected);
      const HostMatrix unfolded = host(ops::unfold(context, tensor(x), window, whole(rows)));
      for (int64_t r = 0; r < x.rows; ++r)
        for (int64_t c = 0; c < features; ++c)
          EXPECT_EQ(unfolded.values[static_cast<size_t>((r * window.size + tap) * features + c)],
                    expected.values[static_cast<size_t>(r * features + c)]);
    }
}

/// A depthwise-separable convolution is a convolution whose matrix is a product: the weight from feature f of
/// tap o to an output is pointwise[output][f] * filters[o][f].
TEST_F(Convolutions, ASeparableOneIsAConvolutionWithAProductAsWeight) {
  const int size = 3, outputs = 4;
  const Ragged rows = ragged_of({6, 2});
  const Tensor x = tensor(HostMatrix::normal(8, features, 1));
  const HostMatrix filters = HostMatrix::normal(size, features, 2),
                   pointwise = HostMatrix::normal(outputs, features, 3);
  HostMatrix weight{outputs, size * features, {}};
  for (size_t output = 0; output < outputs; ++output)
    for (size_t tap = 0; tap < size; ++tap)
      for (size_t f = 0; f < features; ++f)
        weight.values.push_back(pointwise.values[output * features + f] * filters.values[tap * features + f]);
  const HostMatrix separable = host(ops::linear(
      context, ops::depthwise(context, x, {tensor(filters), {}, 1}, whole(rows)), tensor(pointwise), {}));
  const HostMatrix full =
      host(ops::linear(context, ops::unfold(context, x, {size, 1}, whole(rows)), tensor(weight), {}));
  for (size_t i = 0; i < full.values.size(); ++i) EXPECT_NEAR(separable.values[i], full.values[i], 1e-5);
}

/// In decoding a causal convolution reads the last size - 1 tokens and the new ones, whose rows lie in any
/// order.
TEST_F(Convolutions, TokenByTokenEqualsTheWholeSequence) {
  const int length = 9;
  const HostMatrix x = HostMatrix::normal(length, features, 1);
  for (const int size : {1, 2, 4}) {
    const ops::Window window{size, size - 1};
    const Tensor filters = tensor(HostMatrix::normal(size, features, 2)),
                 bias = tensor(HostMatrix::normal(1, features, 3));
    const HostMatrix all = host(ops::unfold(context, tensor(x), window, whole(ragged_of({length}))));
    const HostMatrix sums =
        host(ops::depthwise(context, tensor(x), {filters, bias, size - 1}, whole(ragged_of({length}))));
    for (int begin = 0, count = 1; begin < length; begin += count, count = count % 3 + 1) {
      count = std::min(count, length - begin);
      const int kept = std::min(begin, size - 1);
      HostMatrix stored{kept + count, features, {}};  // the newest token first
      std::vector<int32_t> places;
      for (int p = begin + count; p-- > begin - kept;) {
        const HostMatrix row = x.slice_rows(p, 1);
        stored.values.insert(stored.values.end(), row.values.begin(), row.values.end());
        places.insert(places.begin(), begin + count - 1 - p);
      }
      const auto pattern =
          ops::attention_pattern(context, {{0, count, 0, kept + count}}, /*causal=*/true, places);
      EXPECT_TRUE(host(ops::unfold(context, tensor(stored), window, pattern)) == all.slice_rows(begin, count));
      EXPECT_TRUE(host(ops::depthwise(context, tensor(stored), {filters, bias, size - 1}, pattern)) ==
                  sums.slice_rows(begin, count));
    }
  }
}

TEST_F(Convolutions, RefuseWindowsAndSpansThatDoNotFit) {
  const Tensor x = tensor(HostMatrix::normal(5, features, 1));
  const auto says = [](const std::string& part, const std::function<void()>& call) {
    EXPECT_NE(error_message(call).find(part), std::string::npos) << error_message(call);
  };
  for (const ops::Window window : {ops::Window{0, 0}, ops::Window{3, 3}, ops::Window{3, -1}})
    says("unfold: a window of", [&] { ops::unfold(context, x, window, whole(ragged_of({5}))); });
  says("6 keys from 0 exceeds", [&] { ops::unfold(context, x, {3, 1}, whole(ragged_of({6}))); });
  const Tensor filters = tensor(HostMatrix::normal(3, features, 2));
  says("depthwise: weight is 3 x 4", [&] {
    ops::depthwise(context, x, {tensor(HostMatrix::normal(3, 4, 2)), {}, 1}, whole(ragged_of({5})));
  });
  says("depthwise: bias is 1 x 3", [&] {
    ops::depthwise(context, x, {filters, tensor(HostMatrix::normal(1, 3, 2)), 1}, whole(ragged_of({5})));
  });
  Tape tape;
  Context recording(machine.backend, arena, tape, {});
  Tensor trained = x;
  trained.set_requires_grad(true);
  const auto part = ops::attention_pattern(recording, {{0, 2, 0, 5}}, /*causal=*/true);
  says("unfold: gradients need whole sequences", [&] { ops::unfold(recording, trained, {3, 2}, part); });
  says("depthwise: gradients need whole sequences", [&] {
    ops::depthwise(recording, trained, {filters, {}, 2}, part);
  });
}

}  // namespace
}  // namespace sixfold
