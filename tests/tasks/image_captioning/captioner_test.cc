#include "tasks/image_captioning/captioner.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "base/random.h"
#include "error_message.h"
#include "program/small_captioner.h"
#include "program/small_classifier.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class CaptionerTest : public testing::Test {
 protected:
  CaptionerTest() { write_small_captioner(model_, 9); }

  static std::vector<Image> random_images(size_t count) {
    RandomStream random(1, 0);
    std::vector<Image> images;
    for (size_t i = 0; i < count; ++i) {
      Image& image = images.emplace_back(Image{.size = {4, 4, 1}, .values = {}});
      for (int pixel = 0; pixel < 16; ++pixel) image.values.push_back(static_cast<uint8_t>(random.below(256)));
    }
    return images;
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(CaptionerTest, CaptionsDependOnTheImages) {
  const Captioner captioner(model_, {.threads = 1});
  EXPECT_EQ(captioner.size(), (ImageSize{4, 4, 1}));
  const std::vector<Image> images = random_images(40);
  const std::vector<Caption> captions = captioner.caption(images);
  ASSERT_EQ(captions.size(), images.size());
  std::set<double> different;
  for (const Caption& caption : captions) {
    EXPECT_FALSE(caption.error);
    EXPECT_LT(caption.log_probability, 0);
    different.insert(caption.log_probability);
  }
  EXPECT_GT(different.size(), 30u);
  EXPECT_TRUE(captioner.caption({}).empty());
}

/// The bits of a caption's score do not depend on the other images or on the number of threads.
TEST_F(CaptionerTest, GivesTheSameAnswerInAnyBatch) {
  const std::vector<Image> images = random_images(600);
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const Captioner one(model_, {.threads = 1, .weights = type}), two(model_, {.threads = 2, .weights = type});
    const auto all = one.caption(images), shared = two.caption(images),
               small = two.caption(images, {.batch_tokens = 9});
    for (size_t i = 0; i < images.size(); ++i) {
      EXPECT_EQ(all[i].text, shared[i].text);
      EXPECT_EQ(all[i].log_probability, shared[i].log_probability);
      EXPECT_EQ(all[i].log_probability, small[i].log_probability);
      if (i % 50 != 0) continue;
      EXPECT_EQ(one.caption(std::span(&images[i], 1))[0].log_probability, all[i].log_probability);
    }
  }
}

TEST_F(CaptionerTest, CallsAtTheSameTimeDoNotDisturbEachOther) {
  const std::vector<Image> images = random_images(60);
  const Captioner captioner(model_, {.threads = 2});
  const auto expected = captioner.caption(images);
  std::vector<std::vector<Caption>> found(4);
  std::vector<std::thread> threads;
  for (auto& captions : found) threads.emplace_back([&] { captions = captioner.caption(images); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& captions : found)
    for (size_t i = 0; i < images.size(); ++i)
      EXPECT_EQ(captions[i].log_probability, expected[i].log_probability);
}

TEST_F(CaptionerTest, AnImageOfAnotherSizeFailsAlone) {
  const Captioner captioner(model_, {.threads = 1});
  std::vector<Image> images = random_images(3);
  const Caption last = captioner.caption(images)[2];
  images[1] = {.size = {4, 5, 1}, .values = std::vector<uint8_t>(20)};
  const auto captions = captioner.caption(images);
  EXPECT_EQ(captions[1].error,
            "the image is 4 x 5 with 1 channel, but the model reads images of 4 x 4 with 1 channel");
  EXPECT_EQ(captions[1].text, "");
  EXPECT_FALSE(captions[0].error || captions[2].error);
  EXPECT_EQ(captions[2].log_probability, last.log_probability);
  images[1] = {.size = {4, 4, 1}, .values = std::vector<uint8_t>(3)};
  EXPECT_TRUE(captioner.caption(images)[1].error) << "an image with too few values";
}

TEST_F(CaptionerTest, ABeamOfOneIsGreedySearch) {
  const std::vector<Image> images = random_images(50);
  const Captioner captioner(model_, {.threads = 1});
  const auto greedy = captioner.caption(images, {.beam_size = 1}),
             wide = captioner.caption(images, {.beam_size = 8});
  double greedy_sum = 0, wide_sum = 0;
  for (size_t i = 0; i < images.size(); ++i) greedy_sum += greedy[i].score, wide_sum += wide[i].score;
  EXPECT_GT(wide_sum, greedy_sum);
  EXPECT_NE(error_message([&] {
              captioner.caption(images, {.beam_size = 0});
            }).find("beam_size: expected a whole number from 1 to 1000"),
            std::string::npos);
  EXPECT_NE(error_message([&] {
              captioner.caption(images, {.batch_tokens = -1});
            }).find("batch_tokens: expected a whole number at least 0"),
            std::string::npos);
  CaptionOptions contradicting{.generation = captioner.generation()};
  contradicting.generation->normalization = ScoreNormalization::none;
  contradicting.generation->length_penalty += 1;
  EXPECT_NE(
      error_message([&] { captioner.caption(images, contradicting); }).find("length_penalty has no effect"),
      std::string::npos);
}

/// What goes to the class token is no part of the attention to patches.
TEST_F(CaptionerTest, AttentionLeavesOutTheClassToken) {
  write_small_captioner(folder_ / "token", 9, /*class_token=*/true);
  const Captioner captioner(folder_ / "token", {.threads = 1});
  const ImageAttention attention = captioner.attention(random_images(1)[0], 1);
  EXPECT_EQ(attention.rows * attention.columns, 9);
  ASSERT_EQ(attention.weights.size(), 2 * attention.tokens.size() * 9);
  for (size_t row = 0; row < 2 * attention.tokens.size(); ++row) {
    double sum = 0;
    for (size_t i = 0; i < 9; ++i) sum += static_cast<double>(attention.weights[row * 9 + i]);
    EXPECT_GT(sum, 0.5);
    EXPECT_LT(sum, 0.999);
  }
}

TEST_F(CaptionerTest, AttentionIsADistributionOverThePatches) {
  const Captioner captioner(model_, {.threads = 1});
  const Image image = random_images(1)[0];
  const std::string text = captioner.caption(std::span(&image, 1))[0].text;
  for (const int layer : {-1, 0, 1}) {
    const ImageAttention attention = captioner.attention(image, layer);
    EXPECT_EQ(attention.caption, text);
    EXPECT_EQ(attention.layer, layer < 0 ? 1 : layer);
    EXPECT_EQ(attention.rows * attention.columns, 9);
    EXPECT_EQ(attention.patch * 10 + attention.stride, 21);
    ASSERT_EQ(attention.weights.size(), 2 * attention.tokens.size() * 9);
    for (size_t row = 0; row < 2 * attention.tokens.size(); ++row) {
      double sum = 0;
      for (size_t i = 0; i < 9; ++i) sum += static_cast<double>(attention.weights[row * 9 + i]);
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  EXPECT_NE(captioner.attention(image, 0).weights, captioner.attention(image, 1).weights);
  EXPECT_NE(error_message([&] { captioner.attention(image, 2); }).find("layer 2"), std::string::npos);
  const Image other{.size = {4, 4, 3}, .values = std::vector<uint8_t>(48)};
  EXPECT_NE(error_message([&] { captioner.attention(other); }).find("but the model reads images of 4 x 4"),
            std::string::npos);
}

TEST_F(CaptionerTest, RefusesOtherModels) {
  write_small_model(folder_ / "translation", 1);
  write_small_classifier(folder_ / "classifier", 1);
  const auto message = [&](const std::string& name) {
    return error_message([&] { Captioner(folder_ / name); });
  };
  EXPECT_NE(message("translation").find("not 'image_captioning'"), std::string::npos);
  EXPECT_NE(message("translation").find("the task 'translation'"), std::string::npos);
  EXPECT_NE(message("classifier").find("the task 'classification'"), std::string::npos);
  EXPECT_NE(error_message([&] { Captioner(model_, {.threads = -1}); }).find("threads is -1"),
            std::string::npos);
}

TEST_F(CaptionerTest, CanBeCancelled) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(Captioner(model_, {.threads = 1}).caption(random_images(5), {.cancel = stop.get_token()}),
               Cancelled);
}

}  // namespace
}  // namespace sixfold
