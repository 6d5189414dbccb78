// What the alternatives to the paper's attention have in common with it, and what sets them apart.
#include <gtest/gtest.h>

#include <cmath>

#include "close.h"
#include "error_message.h"
#include "ops/on_cpu.h"

namespace sixfold {
namespace {

struct AttentionVariants : testing::Test, OnCpu {
  static constexpr int heads = 4, d_k = 8, d_v = 4;
  Ragged rows = ragged_of({150, 1, 9});
  HostMatrix q = HostMatrix::normal(160, heads*d_k, 1), k = HostMatrix::normal(160, heads*d_k, 2),
             v = HostMatrix::normal(160, heads*d_v, 3), weight = HostMatrix::normal(1, heads*d_k, 4);

  ops::AttentionInputs inputs() {
    return {.query = tensor(q), .key = tensor(k), .value = tensor(v), .heads = heads};
  }
  HostMatrix run(const ops::AttentionInputs& in, bool causal) {
    return host_copy(ops::attention(context, in, ops::attention_pattern(context, rows, rows, causal)),
                     *machine.backend);
  }
  /// Columns [begin, begin + count) of x, `times` times side by side.
  static HostMatrix columns(const HostMatrix& x, int64_t begin, int64_t count, int64_t times = 1) {
    HostMatrix out{x.rows, count * times, {}};
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t t = 0; t < times; ++t)
        for (int64_t c = 0; c < count; ++c)
          out.values.push_back(x.values[static_cast<size_t>(r * x.cols + begin + c)]);
    return out;
  }
  /// The first `kv_heads` heads of x, each for as many neighbouring heads as share it.
  static HostMatrix each_head_repeated(const HostMatrix& x, int64_t width, int kv_heads) {
    HostMatrix out{x.rows, heads * width, {}};
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t c = 0; c < width; ++c)
          out.values.push_back(x.values[static_cast<size_t>(r * x.cols + h * kv_heads / heads * width + c)]);
    return out;
  }
  static HostMatrix scaled(HostMatrix x, double factor) {
    for (double& value : x.values) value *= factor;
    return x;
  }
};

/// Heads that share keys and values are heads with equal keys and values.
TEST_F(AttentionVariants, SharedHeadsAreEqualHeads) {
  for (const bool causal : {false, true}) {
    ops::AttentionInputs shared = inputs(), equal = inputs();
    for (const int kv_heads : {1, 2}) {
      shared.key = tensor(columns(k, 0, kv_heads * d_k)), shared.value = tensor(columns(v, 0, kv_heads * d_v));
      shared.kv_heads = kv_heads;
      equal.key = tensor(each_head_repeated(k, d_k, kv_heads));
      equal.value = tensor(each_head_repeated(v, d_v, kv_heads));
      EXPECT_TRUE(run(shared, causal) == run(equal, causal)) << kv_heads;
    }
  }
}

TEST_F(AttentionVariants, AWindowThatHoldsTheSentenceRestrictsNothing) {
  for (const bool causal : {false, true}) {
    ops::AttentionInputs wide = inputs();
    wide.window = 150;
    expect_close(run(wide, causal), run(inputs(), causal), 1e-6, "window of 150");
  }
}

/// A key matters to the queries in its window, in a decoder to those after it, and to no others.
TEST_F(AttentionVariants, AWindowHidesWhatIsFurtherAway) {
  constexpr int window = 20, changed = 77;
  for (const bool causal : {false, true}) {
    ops::AttentionInputs in = inputs();
    in.window = window;
    const HostMatrix before = run(in, causal);
    HostMatrix other = v;
    for (int64_t c = 0; c < other.cols; ++c) other.values[static_cast<size_t>(changed * other.cols + c)] += 1;
    in.value = tensor(other);
    const HostMatrix after = run(in, causal);
    for (int r = 0; r < 160; ++r) {
      const bool sees = std::abs(r - changed) <= window && (!causal || r >= changed);
      EXPECT_EQ(before.slice_rows(r, 1) == after.slice_rows(r, 1), !sees) << "row " << r;
    }
  }
}

TEST_F(AttentionVariants, UnscaledIsScaledWithLargerQueries) {
  ops::AttentionInputs unscaled = inputs(), larger = inputs();
  unscaled.scaled = false;
  larger.query = tensor(scaled(q, std::sqrt(d_k)));
  expect_close(run(unscaled, false), run(larger, false), 1e-5, "unscaled");
}

/// An additive score depends on the sum of query and key: what is taken from one and given to the other is
/// nothing.
TEST_F(AttentionVariants, AnAdditiveScoreDependsOnTheSumAlone) {
  const auto shifted = [](HostMatrix x, double by) {
    for (double& value : x.values) value += by;
    return x;
  };
  for (const bool causal : {false, true}) {
    ops::AttentionInputs in = inputs();
    in.score_weight = tensor(weight);
    const HostMatrix before = run(in, causal);
    in.query = tensor(shifted(q, 0.5)), in.key = tensor(shifted(k, -0.5));
    expect_close(run(in, causal), before, 1e-5, "shifted");
    in.key = tensor(k);
    EXPECT_FALSE(run(in, causal) == before);
  }
}

TEST_F(AttentionVariants, ImpossibleOnesAreRefused) {
  ops::AttentionInputs in = inputs();
  in.kv_heads = 3;
  EXPECT_EQ(error_message([&] { run(in, false); }),
            "attention: 32 and 16 columns are not divisible by 4 heads of queries and 3 of keys and values");
  in = inputs();
  in.window = 0;
  EXPECT_EQ(error_message([&] { run(in, false); }), "attention: a window of 0 places");
  in = inputs();
  in.distance_bias = tensor(HostMatrix::normal(297, heads, 5));
  EXPECT_EQ(error_message([&] { run(in, false); }),
            "attention: a distance bias of 297 rows for 150 queries and 150 keys");
}

}  // namespace
}  // namespace sixfold
