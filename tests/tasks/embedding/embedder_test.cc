#include "tasks/embedding/embedder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "data/class_dataset.h"
#include "error_message.h"
#include "program/small_classifier.h"
#include "program/small_embedder.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

double norm_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * double{value};
  return std::sqrt(sum);
}

class EmbedderTest : public testing::Test {
 protected:
  EmbedderTest() { write_small_embedder(model_, 3); }
  Texts some_texts(int count) const {
    Texts texts;
    for (int i = 0; i < count; ++i) {
      texts.emplace_back();
      for (int word = 0; word < i % 8; ++word)
        texts.back() += std::string(1, static_cast<char>('a' + (i * (word + 3) + word) % 8)) + " ";
    }
    return texts;
  }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

/// The mean of the encoder's states of start, text and end, which is then divided by its norm.
TEST_F(EmbedderTest, PoolsTheStatesOfTheEncoder) {
  write_small_embedder(folder_ / "plain", 3, /*normalize=*/false);
  const auto model = load_model(model_, make_backend({.device = "reference"}));
  const Tokenizers tokenizers = load_tokenizers(model_, TextSide::source);
  const Tokenizer& tokenizer = *tokenizers.source;
  BatchBuilder builder;
  const auto ids = classifier_input(tokenizer.encode("a b c"), 6, tokenizer.bos(), tokenizer.eos());
  ASSERT_EQ(ids.size(), 5u);
  builder.sample(0).source(ids);
  const Batch batch = builder.take();
  Context context(model->backend(), std::make_shared<Arena>(model->backend()));
  const std::vector<float> states = model->states(batch, context).to_floats(*model->backend());
  const TextEmbedding plain = Embedder(folder_ / "plain").embed(Texts{"a b c"})[0],
                      normal = Embedder(model_).embed(Texts{"a b c"})[0];
  ASSERT_EQ(plain.values.size(), 8u);
  EXPECT_EQ(plain.tokens, 5u);
  EXPECT_NEAR(norm_of(normal.values), 1, 1e-6);
  for (size_t f = 0; f < 8; ++f) {
    double mean = 0;
    for (size_t token = 0; token < 5; ++token) mean += double{states[token * 8 + f]} / 5;
    EXPECT_NEAR(plain.values[f], mean, 1e-5);
    EXPECT_NEAR(normal.values[f], mean / norm_of(plain.values), 1e-5);
  }
}

/// The bits do not depend on the other texts or on the number of threads.
TEST_F(EmbedderTest, EmbedsATextAlikeInAnyBatch) {
  const Texts texts = some_texts(700);
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const Embedder one(model_, {.threads = 1, .weights = type}), two(model_, {.threads = 2, .weights = type});
    const auto all = one.embed(texts), shared = two.embed(texts);
    ASSERT_EQ(all.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const TextEmbedding alone = one.embed(std::span(&texts[i], 1))[0];
      EXPECT_EQ(all[i].values, alone.values);
      EXPECT_EQ(all[i].values, shared[i].values);
      EXPECT_EQ(all[i].tokens, alone.tokens);
      EXPECT_NEAR(norm_of(all[i].values), 1, 1e-6);
    }
    EXPECT_NE(all[3].values, all[4].values);
  }
}

TEST_F(EmbedderTest, EmbedsWithEveryHead) {
  for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::attention})
    for (const bool dense : {false, true}) {
      const std::string model = folder_ / fmt::format("{}-{}", name_of_enum(pooling), dense);
      write_small_embedder(model, 3, true, [&](ModelConfig& config) {
        config.head.pooling = pooling, config.head.dense = dense, config.head.norm = dense;
      });
      const auto found = Embedder(model).embed(Texts{"a b", "b a", "a b"});
      EXPECT_EQ(found[0].values, found[2].values);
      EXPECT_NE(found[0].values, found[1].values);
      EXPECT_NEAR(norm_of(found[0].values), 1, 1e-6);
    }
}

TEST_F(EmbedderTest, ReadsAsMuchAsItsContext) {
  const auto found = Embedder(model_).embed(Texts{"a b c d e f g h", "a b c d e f", "", " ", "a"});
  EXPECT_EQ(found[0].tokens_cut, 2u);
  EXPECT_EQ(found[0].tokens, 8u);
  EXPECT_EQ(found[0].values, found[1].values);
  EXPECT_EQ(found[1].tokens_cut, 0u);
  EXPECT_EQ(found[2].tokens, 2u) << "the start and the end";
  EXPECT_EQ(found[2].values, found[3].values);
  EXPECT_NE(found[2].values, found[4].values);
  write_small_embedder(folder_ / "unlimited", 3, true, [](ModelConfig& config) { config.context_tokens = 0; });
  EXPECT_EQ(Embedder(folder_ / "unlimited").embed(Texts{"a b c d e f g h"})[0].tokens, 10u);
  EXPECT_TRUE(Embedder(model_).embed({}).empty());
}

/// A zero vector has no direction: it stays zero, and is not a number nowhere.
TEST_F(EmbedderTest, ZeroStaysZero) {
  zero_weights(model_);
  const auto found = Embedder(model_).embed(Texts{"a", ""});
  for (const TextEmbedding& one : found) EXPECT_EQ(one.values, std::vector<float>(8, 0));
  EXPECT_EQ(cosine(found[0].values, found[1].values), 0);
}

TEST_F(EmbedderTest, TellsWhatItCanNotEmbed) {
  const auto found = Embedder(model_).embed(Texts{"a", "\xFF", std::string("a\0b", 3), "b"});
  EXPECT_FALSE(found[0].error || found[3].error);
  EXPECT_EQ(found[1].error, "byte 1 is not valid UTF-8");
  EXPECT_TRUE(found[2].error && found[1].values.empty() && found[2].values.empty());
  damage_weights(model_);
  const TextEmbedding damaged = Embedder(model_).embed(Texts{"a"})[0];
  EXPECT_EQ(damaged.error, "the embedding that the model computes is not finite; its weights must be damaged");
  EXPECT_TRUE(damaged.values.empty());
}

TEST_F(EmbedderTest, Int8IsCloseToFp32) {
  const Texts texts = some_texts(100);
  const auto whole = Embedder(model_).embed(texts),
             rounded = Embedder(model_, {.threads = 1, .weights = WeightType::int8}).embed(texts);
  bool same = true;
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_GT(cosine(whole[i].values, rounded[i].values), 0.99);
    same &= whole[i].values == rounded[i].values;
  }
  EXPECT_FALSE(same);
}

TEST(Cosine, IsOneOfAVectorWithItself) {
  const std::vector<float> a{0.3f, -0.1f, 0.7f}, b{-0.3f, 0.1f, -0.7f}, tiny{1e-38f, 2e-38f, 0},
      huge{3e38f, 3e38f, 3e38f}, across{0.1f, 0.3f, 0};
  for (const auto& one : {a, tiny, huge}) EXPECT_EQ(cosine(one, one), 1);
  EXPECT_EQ(cosine(a, b), -1);
  EXPECT_NEAR(cosine(a, across), 0, 1e-7);
  EXPECT_NE(error_message([&] { cosine(a, std::span(b).first(2)); }).find("have 3 and 2 values"),
            std::string::npos);
}

TEST_F(EmbedderTest, RefusesOtherModels) {
  write_small_model(folder_ / "translation", 1);
  write_small_classifier(folder_ / "classifier", 1);
  for (const std::string other : {"translation", "classifier"})
    EXPECT_NE(error_message([&] { Embedder(folder_ / other); }).find("not 'embedding'"), std::string::npos);
  EXPECT_NE(error_message([&] {
              write_small_embedder(folder_ / "short", 1, true, [](ModelConfig& config) {
                config.positions = Positions::learned;
                config.max_positions = 7, config.beyond_positions = BeyondPositions::error;
              });
            }).find("context_tokens is 6, but max_positions is 7"),
            std::string::npos);
}

TEST_F(EmbedderTest, CanBeCancelled) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(Embedder(model_).embed(Texts{"a"}, {.cancel = stop.get_token()}), Cancelled);
}

}  // namespace
}  // namespace sixfold
