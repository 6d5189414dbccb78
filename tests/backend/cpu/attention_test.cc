// Attention of the cpu backend without gradients, which reads the keys of a few queries where they lie.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <optional>

#include "backend/backend.h"
#include "backend/matrix.h"
#include "base/bf16.h"
#include "instruction_sets.h"

namespace sixfold {
namespace {

using Floats = Matrix<float>;

/// Spans of 1 to 20 queries over up to 40 keys that lie in no order; the last sees none.
struct SpanCase {
  SpanCase(int64_t d_k, int64_t d_v, bool is_causal)
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
  Floats result(Backend& backend) { return result(backend, key.view(), value.view()); }
  Floats result(Backend& backend, View keys, View values) {
    Floats out(query.rows(), out_width);
    backend.run(kernel::Attention{.query = query.view(),
                                  .key = keys,
                                  .value = values,
                                  .out = out.view(),
                                  .spans = spans,
                                  .device_spans = operand(spans),
                                  .key_rows = operand(rows),
                                  .heads = heads,
                                  .causal = causal,
                                  .score_weight = score_weight ? score_weight->view() : View{}});
    return out;
  }

  static constexpr int heads = 3;
  Floats query, key, value;
  int64_t out_width;
  bool causal;
  std::vector<AttentionSpan> spans;
  std::vector<int32_t> rows;
  std::optional<Floats> score_weight;  // of additive scores
};

/// The elements of a matrix in bf16, with a gap behind each row.
struct Bf16Matrix {
  Bf16Matrix(Backend& backend, Floats& from)
      : elements(static_cast<size_t>(from.rows() * (from.view().cols + 3))) {
    std::vector<int32_t> rows(static_cast<size_t>(from.rows()));
    std::iota(rows.begin(), rows.end(), 0);
    columns = from.view().cols;
    backend.run(kernel::CopyRows{view(), operand(rows), from.view()});
  }
  View view() {
    return {elements.data(), DType::bf16, std::ssize(elements) / (columns + 3), columns, columns + 3};
  }

  std::vector<uint16_t> elements;
  int64_t columns;
};

TEST(CpuAttention, OfKeysAndValuesInBf16OnEveryInstructionSet) {
  const auto reference = make_backend({.device = "reference"});
  for (const auto& [d_k, d_v] : {std::pair(32, 64), std::pair(5, 7), std::pair(64, 1), std::pair(33, 81)})
    for (const bool causal : {false, true})
      for (const bool additive : {false, true}) {
        SpanCase test(d_k, d_v, causal);
        if (additive) test.score_weight = Floats::normal(1, SpanCase::heads * d_k, 4);
        Floats exact = test.result(*reference);
        Bf16Matrix keys(*reference, test.key), values(*reference, test.value);
        Floats expected = test.result(*reference, keys.view(), values.view());
        expect_close(expected, exact, 0.2);  // of scores of up to 30, and values of up to 4
        // What the reference computes is attention to the rounded numbers.
        for (auto [from, rounded] : {std::pair(&test.key, &keys), std::pair(&test.value, &values)})
          for (int64_t r = 0; r < from->rows(); ++r)
            for (int64_t c = 0; c < rounded->columns; ++c)
              from->at(r, c) = from_bf16(rounded->view().row<uint16_t>(r)[c]);
        expect_close(expected, test.result(*reference), 0);
        for (const int64_t target : InstructionSet::all()) {
          const InstructionSet set(target);
          SCOPED_TRACE(std::to_string(d_k) + " and " + std::to_string(d_v) + " on " + hwy::TargetName(target));
          const auto backend = make_backend({.threads = 2});
          Floats actual = test.result(*backend, keys.view(), values.view());
          expect_close(actual, expected, 1e-4);
        }
      }
}

/// The cpu backend rounds as the function does that defines it.
TEST(CpuAttention, KeysAndValuesAreRoundedToTheNearest) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Floats x = Floats::normal(1, 71, 5);
  const float special[] = {0.0f,    -0.0f,    1.00390625f, 1.01171875f, 1.0039063f,
                           3.4e38f, -3.4e38f, infinity,    -infinity,   std::numeric_limits<float>::quiet_NaN(),
                           1e-45f,  -1e-40f,  65536.0f};
  for (size_t i = 0; i < std::size(special); ++i)
    x.at(0, static_cast<int64_t>(i)) = x.at(0, static_cast<int64_t>(58 + i)) = special[i];
  for (const int64_t target : InstructionSet::all()) {
    const InstructionSet set(target);
    const Bf16Matrix rounded(*make_backend(), x);
    for (int64_t c = 0; c < rounded.columns; ++c)
      EXPECT_EQ(rounded.elements[static_cast<size_t>(c)], to_bf16(x.at(0, c)))
          << x.at(0, c) << " on " << hwy::TargetName(target);
  }
}

TEST(CpuAttention, OfFewAndManyQueriesOnEveryInstructionSet) {
  for (const auto& [d_k, d_v] : {std::pair(32, 64), std::pair(5, 7), std::pair(64, 1), std::pair(33, 81)})
    for (const bool causal : {false, true}) {
      SpanCase test(d_k, d_v, causal);
      Floats expected = test.result(*make_backend({.device = "reference"}));
      for (const int64_t target : InstructionSet::all()) {
        const InstructionSet set(target);
        SCOPED_TRACE(std::to_string(d_k) + " and " + std::to_string(d_v) + " on " + hwy::TargetName(target));
        Floats actual = test.result(*make_backend({.threads = 2}));
        expect_close(actual, expected, 1e-4);
      }
    }
}

/// MatmulPrecision of queries and keys near 10^10 and exact in fp32, in a span of few queries and one of many:
/// of each pair of keys the first is the better one by far, and all of these are equal.
struct LargeScores {
  static constexpr int64_t d = 32, keys = 20, queries = 4 + 20;
  LargeScores() : query(queries, d), key(keys, d) {
    for (int64_t c = 0; c < d; ++c) {
      for (int64_t r = 0; r < queries; ++r) query.at(r, c) = 4096;
      for (int64_t r = 0; r < keys; ++r)
        key.at(r, c) = 76295.0f - (r % 2 ? 1.0f + static_cast<float>(r) : 0.0f);
    }
  }
  kernel::Attention attention(View logsumexp) {
    return {.query = query.view(),
            .key = key.view(),
            .value = value.view(),
            .out = out.view(),
            .logsumexp = logsumexp,
            .spans = spans,
            .device_spans = operand(spans)};
  }

  Floats query, key, value = Floats::normal(keys, d, 3), out{queries, d};
  const std::vector<AttentionSpan> spans{{0, 4, 0, keys}, {4, 20, 0, keys}};
};

TEST(CpuAttention, LargeScoresGiveTheirWeights) {
  const auto expect_means = [](LargeScores& test) {
    for (int64_t c = 0; c < LargeScores::d; ++c) {
      double mean = 0;
      for (int64_t j = 0; j < LargeScores::keys; j += 2) mean += test.value.at(j, c) / 10;
      for (int64_t r = 0; r < LargeScores::queries; ++r) EXPECT_NEAR(test.out.at(r, c), mean, 1e-6);
    }
  };
  LargeScores test;
  make_backend({.device = "reference"})->run(test.attention({}));
  expect_means(test);
  for (const int64_t target : InstructionSet::all()) {
    const InstructionSet set(target);
    SCOPED_TRACE(hwy::TargetName(target));
    LargeScores few;
    make_backend()->run(few.attention({}));
    expect_means(few);
    LargeScores trained;
    Floats logsumexp(LargeScores::queries, 1);
    make_backend()->run(trained.attention(logsumexp.view()));
    expect_means(trained);
  }
}

TEST(CpuAttention, LargeScoresGiveTheirGradient) {
  struct Gradients {
    Floats query{LargeScores::queries, LargeScores::d}, key{LargeScores::keys, LargeScores::d},
        value{LargeScores::keys, LargeScores::d};
  };
  Floats grad_out = Floats::normal(LargeScores::queries, LargeScores::d, 4);
  const auto gradients = [&](Backend& backend) {
    LargeScores test;
    Floats logsumexp(LargeScores::queries, 1);
    kernel::Attention forward = test.attention(logsumexp.view());
    const std::vector<AttentionSpan> one{{0, LargeScores::queries, 0, LargeScores::keys}};
    forward.spans = one;
    forward.device_spans = operand(one);
    Gradients found;
    backend.run(forward);
    backend.run(kernel::AttentionGradient{.forward = forward,
                                          .grad_out = grad_out.view(),
                                          .grad_query = found.query.view(),
                                          .grad_key = found.key.view(),
                                          .grad_value = found.value.view()});
    return found;
  };
  const Gradients expected = gradients(*make_backend({.device = "reference"}));
  for (const int64_t target : InstructionSet::all()) {
    const InstructionSet set(target);
    SCOPED_TRACE(hwy::TargetName(target));
    Gradients found = gradients(*make_backend());
    expect_close(found.value, expected.value, 1e-5);
    expect_close(found.key, expected.key, 0.02);     // of thousands
    expect_close(found.query, expected.query, 0.5);  // the rounding of sums of terms near 10^5 that cancel
  }
}

// A span's bits are its own, whatever stands beside it.
TEST(CpuAttention, ASpanAloneHasTheSameBits) {
  SpanCase test(32, 48, true);
  const auto cpu = make_backend();
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
