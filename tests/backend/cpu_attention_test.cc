// Attention of the cpu backend without gradients, which reads the keys of a few queries where they lie.
#include <gtest/gtest.h>

#include <numeric>

#include "backend/backend.h"
#include "backend/matrix.h"
#include "instruction_sets.h"

namespace sixfold {
namespace {

using Floats = Matrix<float>;

/// Spans of 1 to 20 queries over up to 40 keys that lie in no order; the last sees none.
struct Case {
  Case(int64_t d_k, int64_t d_v, bool is_causal)
      : query(Floats::normal(60, heads * d_k, 1)),
        key(Floats::normal(90, heads * d_k, 2)),
        value(Floats::normal(90, heads * d_v, 3)),
        out_width(heads * d_v),
        causal(is_causal) {
    int32_t queries = 0, keys = 0;
    for (const auto& [q, k] : {std::pair(1, 1), std::pair(1, 40), std::pair(4, 17), std::pair(8, 16),
                               std::pair(9, 16), std::pair(20, 33), std::pair(2, 0)}) {
      spans.push_back({queries, q, keys, k});
      queries += q, keys += k;
    }
    rows.resize(static_cast<size_t>(keys));
    std::iota(rows.begin(), rows.end(), 0);
    for (int32_t& row : rows) row = row * 7 % 90;  // some rows twice
  }
  Floats result(Backend& backend) {
    Floats out(query.rows(), out_width);
    backend.attention({.query = query.view(),
                       .key = key.view(),
                       .value = value.view(),
                       .out = out.view(),
                       .spans = spans,
                       .key_rows = rows.data(),
                       .heads = heads,
                       .causal = causal});
    return out;
  }

  static constexpr int heads = 3;
  Floats query, key, value;
  int64_t out_width;
  bool causal;
  std::vector<AttentionSpan> spans;
  std::vector<int32_t> rows;
};

TEST(CpuAttention, OfFewAndManyQueriesOnEveryInstructionSet) {
  for (const auto& [d_k, d_v] : {std::pair(32, 64), std::pair(5, 7), std::pair(64, 1), std::pair(33, 81)})
    for (const bool causal : {false, true}) {
      Case test(d_k, d_v, causal);
      Floats expected = test.result(*make_reference_backend());
      for (const int64_t target : InstructionSet::all()) {
        const InstructionSet set(target);
        SCOPED_TRACE(std::to_string(d_k) + " and " + std::to_string(d_v) + " on " + hwy::TargetName(target));
        Floats actual = test.result(*make_cpu_backend(2));
        expect_close(actual, expected, 1e-4);
      }
    }
}

// A span's bits are its own, whatever stands beside it.
TEST(CpuAttention, ASpanAloneHasTheSameBits) {
  Case test(32, 48, true);
  const auto cpu = make_cpu_backend(1);
  Floats together = test.result(*cpu);
  const auto spans = test.spans;
  for (const AttentionSpan& span : spans) {
    test.spans = {span};
    Floats alone = test.result(*cpu);
    for (int64_t q = span.query_begin; q < span.query_begin + span.query_count; ++q)
      for (int64_t c = 0; c < alone.cols(); ++c) EXPECT_EQ(alone.at(q, c), together.at(q, c));
  }
}

}  // namespace
}  // namespace sixfold
