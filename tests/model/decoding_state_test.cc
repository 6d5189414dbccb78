#include "model/decoding_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "search/random_model.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

class DecodingStateTest : public testing::Test {
 protected:
  /// The states of a whole target, [tokens * d_model].
  std::vector<float> full_pass(const Ids& source, const Ids& target) const {
    Batch batch;
    batch.source.add(source);
    batch.target.add(target);
    Context context(backend_, arena_);
    return model_.states(batch, context).to_floats(*backend_);
  }
  /// The states of one token for each hypothesis.
  std::vector<float> step(std::vector<DecodingState::NextToken> tokens) {
    Context context(backend_, arena_);
    return cache_.step(tokens, context).to_floats(*backend_);
  }
  std::vector<int> enter(const std::vector<Ids>& sources) {
    IdBatch batch;
    for (const Ids& source : sources) batch.add(source);
    Context context(backend_, arena_);
    return cache_.enter(batch, context);
  }
  void expect_row(const std::vector<float>& states, size_t row, const std::vector<float>& full,
                  size_t position) {
    const size_t d_model = static_cast<size_t>(model_.config().d_model);
    for (size_t i = 0; i < d_model; ++i)
      EXPECT_NEAR(states[row * d_model + i], full[position * d_model + i], 1e-5);
  }

  std::shared_ptr<Backend> backend_ = make_cpu_backend(1);
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>(backend_);
  RandomModel model_{30, 3, backend_};
  DecodingState cache_{model_, backend_};
};

TEST_F(DecodingStateTest, TokenByTokenEqualsTheFullPass) {
  const std::vector<Ids> sources{{4, 5, 6, 2}, {7, 2}, {8, 9, 10, 11, 12, 2}};
  const std::vector<Ids> targets{{1, 4, 5, 6, 7, 8}, {1, 9, 9, 9, 9, 9}, {1, 10, 11, 12, 13, 14}};
  // The third sentence enters when the others are at their third token, the second leaves after its fourth.
  const auto first = enter({sources[0], sources[1]});
  std::vector<int> numbers{first[0], first[1], -1};
  std::vector<std::vector<int32_t>> rows(3);
  std::vector<size_t> position(3);
  for (int time = 0; time < 8; ++time) {
    if (time == 2) numbers[2] = enter({sources[2]})[0];
    if (time == 4) cache_.leave(numbers[1]);
    std::vector<DecodingState::NextToken> tokens;
    std::vector<size_t> at;
    for (size_t s = 0; s < 3; ++s) {
      const bool there = s == 0 ? time < 6 : s == 1 ? time < 4 : time >= 2;
      if (!there) continue;
      tokens.push_back({numbers[s], targets[s][position[s]], &rows[s]});
      at.push_back(s);
    }
    const auto states = step(tokens);
    for (size_t row = 0; row < at.size(); ++row) {
      const size_t s = at[row];
      expect_row(states, row, full_pass(sources[s], targets[s]), position[s]++);
    }
  }
}

TEST_F(DecodingStateTest, HypothesesShareRowsAndChangePlaces) {
  const Ids source{4, 5, 6, 2};
  const int number = enter({source})[0];
  std::vector<int32_t> a, b, c;
  step({{number, 1, &a}});
  b = a;
  step({{number, 7, &a}, {number, 8, &b}});
  c = b;
  const auto states = step({{number, 10, &c}, {number, 9, &a}, {number, 11, &b}});
  expect_row(states, 0, full_pass(source, {1, 8, 10}), 2);
  expect_row(states, 1, full_pass(source, {1, 7, 9}), 2);
  expect_row(states, 2, full_pass(source, {1, 8, 11}), 2);
  EXPECT_EQ(b[1], c[1]);
}

TEST_F(DecodingStateTest, GivesBackItsRows) {
  const auto sentences = enter({{4, 5, 2}, {4, 2}});
  std::vector<int32_t> a, b;
  for (int i = 0; i < 3; ++i) step({{sentences[0], 4, &a}, {sentences[1], 4, &b}});
  EXPECT_EQ(cache_.target().rows() - cache_.target().free_rows(), 6);
  EXPECT_EQ(cache_.source().rows() - cache_.source().free_rows(), 5);
  cache_.leave(sentences[0]);
  EXPECT_EQ(cache_.target().rows() - cache_.target().free_rows(), 3);
  EXPECT_EQ(cache_.source().rows() - cache_.source().free_rows(), 2);
  EXPECT_EQ(enter({{6, 2}})[0], sentences[0]);
}

TEST_F(DecodingStateTest, GrowsAndKeepsWhatItHas) {
  const Ids source{4, 5, 6, 2};
  Ids target{1};
  while (target.size() < 300) target.push_back(3 + static_cast<int32_t>(target.size() % 20));
  const int number = enter({source})[0];
  std::vector<int32_t> rows;
  std::vector<float> states;
  for (const int32_t id : target) states = step({{number, id, &rows}});
  EXPECT_GE(cache_.target().rows(), 300);
  expect_row(states, 0, full_pass(source, target), 299);
}

TEST(KVStore, RowsAreTakenOnce) {
  KVStore pool(small_config(20), make_reference_backend(), DType::f32);
  std::vector<int32_t> rows;
  pool.allocate(3, rows);
  pool.free(std::span(rows).first(1));
  rows.erase(rows.begin());
  for (const int count : {200, 1000, 1}) pool.allocate(count, rows);
  EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), rows.size());
  EXPECT_LT(*std::max_element(rows.begin(), rows.end()), pool.rows());
  EXPECT_EQ(pool.free_rows(), pool.rows() - static_cast<int64_t>(rows.size()));
}

}  // namespace
}  // namespace sixfold
