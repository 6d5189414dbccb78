#include "tasks/masked_language_model/mask_filler.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "error_message.h"
#include "program/small_classifier.h"
#include "program/small_mask_filler.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

class MaskFillerTest : public testing::Test {
 protected:
  MaskFillerTest() { write_small_mask_filler(model_, 3); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(MaskFillerTest, GivesTheLikeliestTokensOfEachMask) {
  const MaskFiller filler(model_, {.threads = 1});
  const auto results = filler.fill(Texts{"a <mask> c", "<mask> b <mask>"}, {.candidates = 100});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].masks.size(), 1u);
  EXPECT_EQ(results[1].masks.size(), 2u);
  for (const FilledText& result : results)
    for (const auto& mask : result.masks) {
      ASSERT_EQ(mask.size(), 8u) << "no unknown token, no start, no end";
      double sum = 0;
      for (size_t i = 0; i < mask.size(); ++i) {
        sum += mask[i].probability;
        EXPECT_GT(mask[i].probability, 0);
        EXPECT_LE(mask[i].probability, i > 0 ? mask[i - 1].probability : 1);
      }
      EXPECT_LE(sum, 1);
      EXPECT_GT(sum, 0.3);
    }
  EXPECT_EQ(results[0].text, "a" + results[0].masks[0][0].text + " c");
  EXPECT_EQ(" " + results[1].text, results[1].masks[0][0].text + " b" + results[1].masks[1][0].text);
  EXPECT_FALSE(results[1].text.starts_with(' '));
  EXPECT_EQ(filler.fill(Texts{"a <mask> c"})[0].masks[0].size(), 5u);
  EXPECT_TRUE(filler.fill({}).empty());
}

/// The bits do not depend on the other texts or on the number of threads.
TEST_F(MaskFillerTest, FillsATextAlikeInAnyBatch) {
  Texts texts;
  for (int i = 0; i < 700; ++i) {
    texts.emplace_back();
    for (int word = 0; word <= i % 7; ++word)
      texts.back() +=
          word % 3 == i % 3 ? "<mask> " : std::string(1, static_cast<char>('a' + (i * word) % 8)) + " ";
  }
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const MaskFiller one(model_, {.threads = 1, .weights = type}), two(model_, {.threads = 2, .weights = type});
    const auto all = one.fill(texts), shared = two.fill(texts);
    for (size_t i = 0; i < texts.size(); ++i) {
      const FilledText alone = one.fill(std::span(&texts[i], 1))[0];
      EXPECT_EQ(all[i].text, shared[i].text);
      EXPECT_EQ(all[i].text, alone.text);
      EXPECT_EQ(all[i].error, alone.error);
      ASSERT_EQ(all[i].masks.size(), alone.masks.size());
      for (size_t mask = 0; mask < alone.masks.size(); ++mask)
        EXPECT_EQ(all[i].masks[mask][0].probability, alone.masks[mask][0].probability);
    }
  }
}

TEST_F(MaskFillerTest, ServesTheOthersIfATextCanNotBeFilled) {
  const auto results = MaskFiller(model_, {.threads = 1})
                           .fill(Texts{"a b", "", "\xFF <mask>", "a b c d e f g h <mask>",
                                       "<mask> b c d e f g h a b", "a <mask>", "a<mask>"});
  EXPECT_EQ(results[0].error, "the text has no <mask>");
  EXPECT_EQ(results[1].error, "the text has no <mask>");
  EXPECT_TRUE(results[2].error);
  EXPECT_EQ(results[3].error, "a <mask> is beyond the 8 tokens that the model reads");
  EXPECT_FALSE(results[4].error);
  EXPECT_EQ(results[4].tokens_cut, 2u);
  EXPECT_TRUE(results[4].text.ends_with(" b c d e f g h a b")) << "what is not read stays";
  EXPECT_FALSE(results[5].error);
  ASSERT_TRUE(results[6].error);
  EXPECT_NE(results[6].error->find("touches text"), std::string::npos);
  for (const size_t i : {0, 1, 2, 3, 6}) EXPECT_TRUE(results[i].text.empty() && results[i].masks.empty());
}

TEST_F(MaskFillerTest, ProbabilitiesThatAreNotFiniteAreAnError) {
  damage_weights(model_);
  const auto result = MaskFiller(model_, {.threads = 1}).fill(Texts{"a <mask>"})[0];
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->find("not finite"), std::string::npos);
  EXPECT_TRUE(result.text.empty());
}

TEST_F(MaskFillerTest, RefusesOtherModelsAndOptions) {
  write_small_model(folder_ / "translation", 1);
  write_small_classifier(folder_ / "classifier", 1);
  for (const std::string other : {"translation", "classifier"})
    EXPECT_NE(error_message([&] { MaskFiller(folder_ / other); }).find("not 'masked_language_model'"),
              std::string::npos);
  EXPECT_NE(error_message([&] { MaskFiller(model_, {.threads = -1}); }).find("threads is -1"),
            std::string::npos);
  EXPECT_NE(error_message([&] {
              MaskFiller(model_, {.threads = 1}).fill({}, {.candidates = 0});
            }).find("candidates: expected a whole number from 1 to 1000"),
            std::string::npos);
}

TEST_F(MaskFillerTest, CanBeCancelled) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(MaskFiller(model_, {.threads = 1}).fill(Texts{"a <mask>"}, {.cancel = stop.get_token()}),
               Cancelled);
}

}  // namespace
}  // namespace sixfold
