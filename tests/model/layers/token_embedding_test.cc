#include "model/layers/token_embedding.h"

#include <gtest/gtest.h>

#include "close.h"
#include "error_message.h"
#include "model/small_model.h"
#include "runtime/search.h"

namespace sixfold {
namespace {

/// The tokens of sentences of 3 and 2 tokens, embedded.
HostMatrix embedded(Positions positions, const std::vector<int32_t>& lengths = {}) {
  const std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  Architecture a;
  a.d_model = 4;
  a.positions = positions;
  ParameterBuilder make(backend, DType::f64, 1);
  const Tensor table = make.table("table", 9, 4, ParameterUse::lookup);
  const TokenEmbedding embedding(make, a, {});
  EXPECT_EQ(embedding.needs_lengths(), positions == Positions::relative_index);
  Context context(backend, std::make_shared<Arena>(backend));
  const TokenRows rows = context.token_rows(ragged_of({3, 2}));
  const std::vector<int32_t> ids{5, 5, -1, 8, 5};
  return host_copy(embedding(table, ids, rows, {lengths, {}}, context), *backend);
}

std::vector<double> last_features(const HostMatrix& matrix) {
  std::vector<double> last;
  for (int64_t r = 0; r < matrix.rows; ++r)
    last.push_back(matrix.values[static_cast<size_t>((r + 1) * matrix.cols - 1)]);
  return last;
}

TEST(TokenEmbedding, AnIndexIsTheLastFeature) {
  const HostMatrix plain = embedded(Positions::none), index = embedded(Positions::index),
                   relative = embedded(Positions::relative_index, {3, 3, 3, 8, 8});
  EXPECT_EQ(last_features(index), (std::vector<double>{1, 2, 3, 1, 2}));
  EXPECT_EQ(last_features(relative), (std::vector<double>{1 / 3.0, 2 / 3.0, 1, 1 / 8.0, 2 / 8.0}));
  for (int64_t r = 0; r < plain.rows; ++r)
    for (int64_t c = 0; c < 3; ++c) {
      const auto i = static_cast<size_t>(4 * r + c);
      EXPECT_EQ(index.values[i], plain.values[i]);
      EXPECT_EQ(relative.values[i], plain.values[i]);
    }
}

/// Rotary positions and those of scores change nothing in the embeddings.
TEST(TokenEmbedding, PositionsOfAttentionAreNotAdded) {
  for (const Positions positions : {Positions::rotary, Positions::alibi, Positions::t5})
    EXPECT_TRUE(embedded(positions) == embedded(Positions::none)) << name_of_enum(positions);
}

ModelConfig limited(int max_positions) {
  ModelConfig config = small_config();
  config.positions = Positions::learned;
  config.max_positions = max_positions;
  config.beyond_positions = BeyondPositions::error;
  config.tied_embeddings = TiedEmbeddings::none;
  return config;
}

TEST(LearnedPositions, BeyondTheTableAreAnErrorOrTheLastRow) {
  const auto backend = make_backend({.device = "reference"});
  ModelConfig config = limited(5);
  const Transformer refusing(config, backend, DType::f64, 1);
  config.beyond_positions = BeyondPositions::last;
  const Transformer model(config, backend, DType::f64, 1);
  const Batch fits = random_pairs({{5, 5}}, config, 1);
  EXPECT_TRUE(states_of(refusing, fits) == states_of(model, fits));
  for (const auto& lengths : {PairLengths{{6, 2}}, PairLengths{{2, 6}}}) {
    const Batch longer = random_pairs(lengths, config, 1);
    EXPECT_EQ(states_of(model, longer).rows, lengths[0].second);
    EXPECT_NE(error_message([&] {
                states_of(refusing, longer);
              }).find("a sentence has 6 tokens, but max_positions is 5 and beyond_positions is 'error'"),
              std::string::npos);
  }
}

TEST(LearnedPositions, OutputsAreNoLongerThanTheTable) {
  const Transformer model(limited(5), make_backend({.threads = 1}), DType::f32, 1);
  int found = 0;
  search(model, {{4, 2}, {9, 8, 7, 6, 2}}, {}, [&](size_t, const std::vector<Hypothesis>& best) {
    for (const Hypothesis& one : best) EXPECT_LE(one.ids.size(), 5u);
    ++found;
  });
  EXPECT_EQ(found, 2);
  EXPECT_NE(error_message([&] {
              search(model, {{4, 2}, {9, 8, 7, 6, 5, 2}}, {}, [](size_t, const auto&) {});
            }).find("max_positions is 5"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
