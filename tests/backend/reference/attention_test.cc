#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backend/backend.h"
#include "backend/dropout.h"
#include "backend/matrix.h"

namespace sixfold {
namespace {

using M = Matrix<double>;

template <class T>
class ReferenceAttention : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ReferenceAttention, Types);

// The example that teaching texts use: a query picks the values of the keys that it points at.
TYPED_TEST(ReferenceAttention, WorkedExample) {
  Matrix<TypeParam> query{{0, 10, 0}, {0, 0, 10}, {10, 10, 0}};
  Matrix<TypeParam> key{{10, 0, 0}, {0, 10, 0}, {0, 0, 10}, {0, 0, 10}};
  Matrix<TypeParam> value{{1, 0, 1}, {10, 0, 2}, {100, 5, 0}, {1000, 6, 0}}, out(3, 3), weights(3, 4);
  const std::vector<AttentionSpan> spans{{0, 3, 0, 4}};
  make_backend({.device = "reference"})
      ->run(kernel::Attention{.query = query.view(),
                              .key = key.view(),
                              .value = value.view(),
                              .out = out.view(),
                              .logsumexp = {},
                              .spans = spans,
                              .device_spans = operand(spans),
                              .dropout = {},
                              .weights = weights.view()});
  expect_close(out, {{10, 0, 2}, {550, 5.5, 0}, {5.5, 0, 1.5}}, std::is_same_v<TypeParam, float> ? 1e-4 : 1e-9);
  expect_close(weights, {{0, 1, 0, 0}, {0, 0, 0.5, 0.5}, {0.5, 0.5, 0, 0}}, 1e-6);
}

TYPED_TEST(ReferenceAttention, WeightsAreASoftmaxOfScaledProducts) {
  // d_k = 4: scores are products / 2; one query with products 0 and 2 log 3 has weights 1/4 and 3/4
  const auto log3 = static_cast<TypeParam>(std::log(3.0));
  Matrix<TypeParam> query{{1, 0, 0, 0}}, key{{0, 5, 5, 5}, {2 * log3, 5, 5, 5}}, value{{8}, {16}}, out(1, 1);
  Matrix<TypeParam> logsumexp(1, 1), weights(1, 3);
  const std::vector<AttentionSpan> spans{{0, 1, 0, 2}};
  make_backend({.device = "reference"})
      ->run(kernel::Attention{.query = query.view(),
                              .key = key.view(),
                              .value = value.view(),
                              .out = out.view(),
                              .logsumexp = logsumexp.view(),
                              .spans = spans,
                              .device_spans = operand(spans),
                              .dropout = {},
                              .weights = weights.view()});
  expect_close(out, {{14}}, 1e-5);
  expect_close(logsumexp, {{TypeParam(std::log(4.0 / 3))}}, 1e-6);  // less the largest score
  expect_close(weights, {{0.25, 0.75, 0}}, 1e-6);
}

/// Random attention over two sentences, with several heads and d_v unlike d_k.
struct AttentionCase {
  static constexpr int heads = 2, d_k = 3, d_v = 2;
  std::vector<AttentionSpan> spans{{0, 3, 0, 4}, {3, 2, 4, 2}};
  std::vector<int32_t> sentence{0, 0, 0, 1, 1}, position{0, 1, 2, 0, 1};
  std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  M query = M::normal(5, heads*d_k, 1), key = M::normal(6, heads*d_k, 2), value = M::normal(6, heads*d_v, 3);
  M grad_out = M::normal(5, heads*d_v, 4), out = M(5, heads*d_v), logsumexp = M(5, heads);
  M weights = M(heads * 5, 4);
  kernel::Attention attention{.query = query.view(),
                              .key = key.view(),
                              .value = value.view(),
                              .out = out.view(),
                              .logsumexp = logsumexp.view(),
                              .spans = spans,
                              .device_spans = operand(spans),
                              .heads = heads,
                              .dropout = {},
                              .weights = weights.view()};

  void drop_some() {
    attention.dropout = {.sentence = operand(sentence),
                         .position = operand(position),
                         .seed = 2,
                         .update = 3,
                         .module = 4,
                         .threshold = 20000};
  }
  M result() {
    backend->run(attention);
    return out;
  }
  double loss() {
    backend->run(attention);
    return inner_product(out, grad_out);
  }
  void expect_true_gradient() {
    loss();
    // what lies in the gradients before must not matter
    M grad_query = M::normal(5, heads * d_k, 5), grad_key = M::normal(6, heads * d_k, 6);
    M grad_value = M::normal(6, heads * d_v, 7);
    backend->run(kernel::AttentionGradient{.forward = attention,
                                           .grad_out = grad_out.view(),
                                           .grad_query = grad_query.view(),
                                           .grad_key = grad_key.view(),
                                           .grad_value = grad_value.view()});
    expect_close(grad_query, numeric_gradient(query, [&] { return loss(); }), 1e-8);
    expect_close(grad_key, numeric_gradient(key, [&] { return loss(); }), 1e-8);
    expect_close(grad_value, numeric_gradient(value, [&] { return loss(); }), 1e-8);
  }
};

TEST(ReferenceAttentionHeads, EachIsAnAttentionOfItsOwnColumns) {
  AttentionCase both;
  const M together = both.result();
  for (int head = 0; head < 2; ++head) {
    AttentionCase one;
    const auto columns = [&](View x) {
      x.cols /= 2;
      x.data = x.as<double>() + head * x.cols;
      return x;
    };
    kernel::Attention& a = one.attention;
    a.query = columns(a.query), a.key = columns(a.key), a.value = columns(a.value), a.out = columns(a.out);
    a.logsumexp = a.weights = {};
    a.heads = 1;
    M alone = one.result();
    for (int64_t r = 0; r < 5; ++r)
      for (int64_t c = 2 * head; c < 2 * head + 2; ++c) EXPECT_EQ(alone.at(r, c), M(together).at(r, c));
  }
}

TEST(ReferenceAttentionHeads, WeightsSumToOneOverEachSentence) {
  AttentionCase test;
  test.result();
  for (int row = 0; row < 10; ++row) {
    double sum = 0;
    for (int c = 0; c < 4; ++c) sum += test.weights.at(row, c);
    EXPECT_NEAR(sum, 1, 1e-14);
    EXPECT_EQ(test.weights.at(row, 2) > 0, row % 5 < 3);  // the second sentence has two keys
  }
}

TEST(ReferenceAttentionCausal, QueriesSeeTheirOwnPlaceAndWhatIsBefore) {
  AttentionCase test;
  test.attention.causal = true;  // 3 queries at the end of 4 keys, and 2 at the end of 2
  M before = test.result();
  const int visible[] = {2, 3, 4, 1, 2};
  for (int row = 0; row < 10; ++row)
    for (int c = 0; c < 4; ++c) EXPECT_EQ(test.weights.at(row, c) > 0, c < visible[row % 5]) << row << " " << c;

  test.key.at(3, 0) += 1;
  test.value.at(3, 0) += 1;
  M after = test.result();
  for (int c = 0; c < 4; ++c) {
    EXPECT_EQ(after.at(0, c), before.at(0, c));
    EXPECT_EQ(after.at(1, c), before.at(1, c));
  }
  EXPECT_NE(after.at(2, 0), before.at(2, 0));
}

TEST(ReferenceAttentionSpans, WithoutKeysGiveZero) {
  AttentionCase test;
  test.spans = {{0, 3, 0, 0}, {3, 2, 0, 1}};
  test.attention.device_spans = operand(test.spans);
  test.attention.causal = true;  // of the second span's queries the first has no key before it
  test.backend->run(kernel::Fill{test.out.view(), 9});
  M out = test.result();
  for (int row : {0, 1, 2, 3})
    for (int c = 0; c < 4; ++c) EXPECT_EQ(out.at(row, c), 0);
  EXPECT_EQ(test.logsumexp.at(0, 0), -std::numeric_limits<double>::infinity());
  for (int c = 0; c < 4; ++c) EXPECT_NEAR(out.at(4, c), test.value.at(0, c), 1e-15);
  test.expect_true_gradient();
}

TEST(ReferenceAttentionSpans, KeyRowsStandForPlaces) {
  AttentionCase plain;
  const M expected = plain.result();

  AttentionCase moved;
  const std::vector<int32_t> rows{5, 2, 0, 1, 4, 3};
  moved.backend->run(kernel::CopyRows{moved.key.view(), operand(rows), plain.key.view()});
  moved.backend->run(kernel::CopyRows{moved.value.view(), operand(rows), plain.value.view()});
  moved.attention.key_rows = operand(rows);
  EXPECT_EQ(moved.result(), expected);
  moved.expect_true_gradient();
}

TEST(ReferenceAttentionSpans, MayShareTheirKeys) {
  AttentionCase test;
  test.spans = {{0, 3, 0, 4}, {3, 2, 0, 4}};
  test.attention.device_spans = operand(test.spans);
  test.expect_true_gradient();
}

TEST(ReferenceAttentionDropout, DrawsForQueryHeadAndPlace) {
  AttentionCase test;
  test.drop_some();
  M out = test.result();
  M expected(5, 4);
  const Dropout& dropout = test.attention.dropout;
  for (int row = 0; row < 5; ++row)
    for (int head = 0; head < 2; ++head)
      for (int place = 0; place < (row < 3 ? 4 : 2); ++place) {
        const uint32_t module = dropout.module + (static_cast<uint32_t>(head) << 20);
        const auto words = Philox::bits(
            {0, static_cast<uint32_t>(test.position[row]), static_cast<uint32_t>(test.sentence[row]), module},
            dropout.seed, dropout.update);
        const uint32_t half = place % 2 ? words[place / 2] >> 16 : words[place / 2] & 0xffff;
        if (half < dropout.threshold) continue;
        for (int c = 0; c < 2; ++c)
          expected.at(row, head * 2 + c) += test.weights.at(head * 5 + row, place) * dropout.keep_scale() *
                                            test.value.at(row < 3 ? place : 4 + place, head * 2 + c);
      }
  expect_close(out, expected, 1e-14);
}

TEST(ReferenceGradient, Attention) { AttentionCase().expect_true_gradient(); }

TEST(ReferenceGradient, CausalAttention) {
  AttentionCase test;
  test.attention.causal = true;
  test.expect_true_gradient();
}

TEST(ReferenceGradient, AttentionWithDropout) {
  AttentionCase test;
  test.drop_some();
  test.expect_true_gradient();
}

}  // namespace
}  // namespace sixfold
