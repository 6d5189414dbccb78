#include "tasks/image_classification/task.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "formats/quarters.h"
#include "model_folder/model_folder.h"
#include "tasks/classification/classifier.h"
#include "tasks/tasks.h"
#include "temporary_folder.h"
#include "train/trainer.h"
#include "train/training_log.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

/// Images of 8 x 8 pixels with a bright square in one of the four quarters, whose number is the label.
class ImageClassificationTest : public testing::Test {
 protected:
  ImageClassificationTest() {
    write_quarters(folder_ / "train", 200, 1);
    write_quarters(folder_ / "valid", 40, 2);
    options_.image.patch = 4, options_.image.stride = 2;
    options_.model.d_model = 16, options_.model.d_ff = 32, options_.model.heads = 2;
    options_.model.encoder_layers = 1;
    options_.model.dropout = 0;
    options_.data.train = {folder_ / "train.images", folder_ / "train.labels"};
    options_.data.valid = {folder_ / "valid.images", folder_ / "valid.labels"};
    options_.data.batch_tokens = 180;
    options_.train.updates = 24;
    options_.train.threads = 1;
    options_.train.precision = Precision::fp32;
    options_.schedule.kind = ScheduleKind::constant;
    options_.schedule.learning_rate = 5e-3;
    options_.schedule.warmup = 3;
    options_.checkpoint.every_updates = 10;
    options_.validation.every_updates = 12;
  }
  TrainOutcome run(const std::string& name, bool resume = false) const {
    return train(ImageClassificationConfig(options_), {.run = folder_ / name, .resume = resume});
  }
  std::string weights(const std::string& name, int update) const {
    return read_file(folder_ / name + fmt::format("/checkpoints/update-{:09}/model.safetensors", update));
  }

  TemporaryFolder folder_;
  ImageClassificationOptions options_;
};

TEST_F(ImageClassificationTest, LearnsWithEveryPoolingAndPosition) {
  options_.train.updates = 120;
  for (const Pooling pooling : {Pooling::mean, Pooling::attention})
    for (const Positions positions : {Positions::learned, Positions::sinusoidal, Positions::rotary}) {
      options_.classifier.pooling = pooling;
      options_.model.positions = positions;
      const std::string name = fmt::format("{}-{}", name_of_enum(pooling), name_of_enum(positions));
      const Classifier classifier(run(name).model, {.threads = 1});
      EXPECT_EQ(classifier.labels(), (Texts{"0", "1", "2", "3"}));
      EXPECT_TRUE(classifier.reads_images());
      if (positions == Positions::rotary) continue;  // distances alone do not tell the quarters apart
      for (int quarter = 0; quarter < 4; ++quarter)
        EXPECT_EQ(classifier.classify_images(std::vector{quarter_image(quarter)})[0].label,
                  std::to_string(quarter))
            << name;
      EXPECT_EQ(read_training_log(folder_ / name + "/train.jsonl").at("validation accuracy").values.back(),
                100);
    }
}

/// A vision Transformer as Dosovitskiy et al. have it, with pixels on another scale.
TEST_F(ImageClassificationTest, LearnsByTheClassToken) {
  options_.train.updates = 120;
  options_.classifier.pooling = Pooling::first;
  EXPECT_NE(error_message([&] { run("refused"); }).find("or set image.class_token"), std::string::npos);
  options_.image.class_token = true;
  options_.image.mean = {0.2f}, options_.image.std = {0.3f};
  options_.model.preprocess = options_.model.postprocess_top = {ProcessStep::norm};
  options_.model.postprocess = {ProcessStep::dropout, ProcessStep::add};
  const std::string model = run("run").model;
  EXPECT_EQ(load_model_config(model).max_positions, 10);
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const Classifier classifier(model, {.threads = 1, .weights = type});
    for (int quarter = 0; quarter < 4; ++quarter)
      EXPECT_EQ(classifier.classify_images(std::vector{quarter_image(quarter)})[0].label,
                std::to_string(quarter));
  }
  EXPECT_EQ(read_training_log(folder_ / "run/train.jsonl").at("validation accuracy").values.back(), 100);
  options_.start.model = model, options_.image.class_token = false, options_.classifier.pooling = Pooling::mean;
  EXPECT_NE(error_message([&] { run("other"); }).find("with a class token, mean 0.2, std 0.3"),
            std::string::npos);
}

/// Augmentation, too, is a function of sample and epoch.
TEST_F(ImageClassificationTest, ResumesBitForBit) {
  options_.data.augmentation = {.flip = false, .shift = 1, .cut_out = 2};
  options_.model.dropout = 0.1f;
  run("whole");
  options_.train.updates = 10;
  run("parts");
  options_.train.updates = 24;
  run("parts", /*resume=*/true);
  EXPECT_TRUE(weights("whole", 24) == weights("parts", 24));
  options_.data.augmentation.shift = 0;
  run("plain");
  EXPECT_FALSE(weights("whole", 24) == weights("plain", 24)) << "augmentation has no effect";
}

TEST_F(ImageClassificationTest, GivesTheSameAnswerInAnyBatch) {
  const std::string model = run("run").model;
  std::vector<Image> images;
  for (int i = 0; i < 300; ++i) {
    images.push_back(quarter_image(i % 4));
    images.back().values[static_cast<size_t>(i % 64)] = static_cast<uint8_t>(i);
  }
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const Classifier one(model, {.threads = 1, .weights = type}), two(model, {.threads = 2, .weights = type});
    const auto all = one.classify_images(images), shared = two.classify_images(images);
    for (size_t i = 0; i < images.size(); ++i) {
      EXPECT_EQ(all[i].probabilities, shared[i].probabilities);
      if (i % 50 == 0) {
        EXPECT_EQ(one.classify_images(std::span(&images[i], 1))[0].probabilities, all[i].probabilities);
      }
    }
  }
}

TEST_F(ImageClassificationTest, AnImageOfAnotherSizeFailsAlone) {
  const Classifier classifier(run("run").model, {.threads = 1});
  const Image other{.size = {8, 9, 1}, .values = std::vector<uint8_t>(72)};
  const auto results = classifier.classify_images(std::vector{quarter_image(0), other, quarter_image(0)});
  EXPECT_EQ(results[1].error,
            "the image is 8 x 9 with 1 channel, but the model reads images of 8 x 8 with 1 channel");
  EXPECT_FALSE(results[0].error || results[2].error);
  EXPECT_EQ(results[0].probabilities, results[2].probabilities);
  EXPECT_NE(error_message([&] { classifier.classify(Texts{"a"}); }).find("classifies images, not texts"),
            std::string::npos);
}

TEST_F(ImageClassificationTest, StartsFromAModelWithOtherLabels) {
  const std::string first = run("first").model;
  options_.start.model = first;
  options_.data.label_names = {"top left", "top right", "bottom left", "bottom right"};
  options_.train.updates = 10;
  const Classifier classifier(run("second").model, {.threads = 1});
  EXPECT_EQ(classifier.labels(), (Texts{"bottom left", "bottom right", "top left", "top right"}));
  options_.image.stride = 4;
  EXPECT_NE(error_message([&] { run("third"); }).find("reads images of 8 x 8 with 1 channel in patches of 4"),
            std::string::npos);
}

TEST_F(ImageClassificationTest, ReadsListsOfFiles) {
  std::string list, labels;
  for (int i = 0; i < 40; ++i) {
    const Image image = quarter_image(i % 4);
    const std::string name = fmt::format("{}.pgm", i);
    write_file_atomically(folder_ / name,
                          "P5 8 8 255\n" + std::string(image.values.begin(), image.values.end()));
    list += name + "\n", labels += fmt::format("quarter {}{}\n", i % 4, i % 3 == 0 ? " " : "");
  }
  write_file_atomically(folder_ / "list", list);
  write_file_atomically(folder_ / "labels", labels);
  options_.data.train = {folder_ / "list", folder_ / "labels"};
  options_.data.valid = {};
  options_.data.label_names = {"0", "1"};  // of numbers, of which there are none
  const Classifier classifier(run("run").model, {.threads = 1});
  EXPECT_EQ(classifier.labels(), (Texts{"quarter 0", "quarter 1", "quarter 2", "quarter 3"}));
  write_file_atomically(folder_ / "7.pgm", "P5 8 7 255\n" + std::string(56, 'x'));
  EXPECT_NE(error_message([&] { run("other"); })
                .find(fmt::format("list:8 ({}): the image is 7 x 8 with 1 channel, but the first one is 8 x 8",
                                  folder_ / "7.pgm")),
            std::string::npos);
  write_file_atomically(folder_ / "7.pgm", "P5 8 8 255\nshort");
  EXPECT_NE(error_message([&] { run("other"); }).find("7.pgm: is a damaged PGM file"), std::string::npos);
}

TEST_F(ImageClassificationTest, RefusesChangesThatLeaveNothingOfAnImage) {
  const auto refusal = [&](int shift, int cut_out) {
    options_.data.augmentation = {.shift = shift, .cut_out = cut_out};
    return error_message([&] { run("refused"); });
  };
  EXPECT_TRUE(refusal(8, 0).starts_with("data.shift is 8, but the images are 8 x 8 pixels")) << refusal(8, 0);
  EXPECT_TRUE(refusal(0, 4000).starts_with("data.cut_out is 4000, but the images are 8 x 8 pixels"));
  options_.train.updates = 1;
  options_.data.augmentation = {.shift = 7, .cut_out = 7};
  run("accepted");
}

/// The image files are no part of the list, but a changed one is noticed.
TEST_F(ImageClassificationTest, EncodesAgainWhenAnImageChanged) {
  write_file_atomically(folder_ / "a.pgm", "P5 8 8 255\n" + std::string(64, 'a'));
  write_file_atomically(folder_ / "b.pgm", "P5 8 8 255\n" + std::string(64, 'b'));
  write_file_atomically(folder_ / "list", "a.pgm\nb.pgm\n");
  write_file_atomically(folder_ / "labels", "a\nb\n");
  options_.data.train = {folder_ / "list", folder_ / "labels"}, options_.data.valid = {};
  std::filesystem::create_directories(folder_ / "run");
  const auto hash = [&] {
    return ImageClassificationConfig(options_)
        .open({.run = folder_ / "run", .model = ""})
        ->training_data()
        .hash();
  };
  const std::string before = hash();
  EXPECT_EQ(hash(), before);
  write_file_atomically(folder_ / "b.pgm", "P5 8 8 255 \n" + std::string(63, 'c'));
  EXPECT_NE(hash(), before);
}

TEST_F(ImageClassificationTest, RefusesWhatDoesNotFit) {
  const auto message = [&] { return error_message([&] { run("refused"); }); };
  const auto good = options_;
  const auto expect = [&](std::string_view text) {
    const std::string said = message();
    EXPECT_NE(said.find(text), std::string::npos) << said;
    options_ = good;
  };
  options_.data.train.pop_back();
  expect("data.train: there is an odd number of files");
  std::swap(options_.data.train[0], options_.data.train[1]);
  expect("contains images, not labels");
  options_.data.train[1] = options_.data.valid[1];
  expect("fewer items than");
  options_.image.patch = 3;
  expect("do not cover images of 8 x 8 pixels exactly");
  options_.image.patch = 3;
  options_.data.train[1] = options_.data.valid[1];  // what is wrong with the first image is said first
  expect("do not cover images of 8 x 8 pixels exactly");
  options_.image.stride = 6;
  expect("image.stride is 6");
  options_.classifier.pooling = Pooling::first;
  expect("images have no first token");
  options_.data.label_names = {"a", "b"};
  expect("but data.label_names has only 2");
  options_.data.label_names = {"a", " b"};
  expect("data.label_names: ' b' is empty or has spaces around it");
  options_.model.decoder_layers = 1;
  expect("model.decoder_layers");
}

TEST_F(ImageClassificationTest, TheTableKnowsTheTask) {
  const auto options = [](const std::string& more) {
    return task_config_of(
        parse_yaml_options("task: image_classification\ndata:\n  train: [a, b]\ntrain:\n  updates: 1\n" + more,
                           "c.yaml"),
        "c.yaml");
  };
  EXPECT_NO_THROW(options("model:\n  preset: tiny\n"));
  EXPECT_NE(error_message([&] {
              options("model:\n  max_positions: 7\n");
            }).find("follows from the size of the images"),
            std::string::npos);
  EXPECT_NE(error_message([&] { options("tokenizer:\n  kind: bytes\n"); }).find("tokenizer"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
