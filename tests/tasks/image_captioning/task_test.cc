#include "tasks/image_captioning/task.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "error_message.h"
#include "formats/quarters.h"
#include "model_folder/model_folder.h"
#include "tasks/image_captioning/captioner.h"
#include "tasks/tasks.h"
#include "temporary_folder.h"
#include "text/tokenizers.h"
#include "train/forecast.h"
#include "train/trainer.h"
#include "train/training_log.h"

namespace sixfold {
namespace {

class ImageCaptioningTest : public testing::Test {
 protected:
  ImageCaptioningTest() {
    write_quarters(folder_ / "train", 200, 1);
    write_quarters(folder_ / "valid", 40, 2);
    options_.image.patch = 4, options_.image.stride = 2;
    options_.model.d_model = 16, options_.model.d_ff = 32, options_.model.heads = 2;
    options_.model.encoder_layers = options_.model.decoder_layers = 1;
    options_.model.dropout = 0;
    options_.tokenizer.kind = TokenizerKind::whitespace;
    options_.data.train = {folder_ / "train.images", folder_ / "train.captions"};
    options_.data.valid = {folder_ / "valid.images", folder_ / "valid.captions"};
    options_.data.batch_tokens = 300;
    options_.train.updates = 24;
    options_.train.threads = 1;
    options_.train.precision = Precision::fp32;
    options_.train.label_smoothing = 0;
    options_.schedule.kind = ScheduleKind::constant;
    options_.schedule.learning_rate = 1e-2;
    options_.schedule.warmup = 3;
    options_.checkpoint.every_updates = 10;
    options_.validation.every_updates = 12;
  }
  TrainOutcome run(const std::string& name, bool resume = false) const {
    return train(ImageCaptioningConfig(options_), {.run = folder_ / name, .resume = resume});
  }
  std::unique_ptr<Task> open(const std::optional<TaskStart::Resumed>& resumed = {}) const {
    std::filesystem::create_directories(folder_ / "run");
    return ImageCaptioningConfig(options_).open({.run = folder_ / "run", .model = "", .resumed = resumed});
  }
  std::string weights(const std::string& name, int update) const {
    return read_file(folder_ / name + fmt::format("/checkpoints/update-{:09}/model.safetensors", update));
  }
  double last(const std::string& name, const std::string& curve) const {
    return read_training_log(folder_ / name + "/train.jsonl").at(curve).values.back();
  }

  TemporaryFolder folder_;
  ImageCaptioningOptions options_;
};

TEST_F(ImageCaptioningTest, LearnsToSayWhatItSees) {
  options_.train.updates = 150;
  options_.validation.every_updates = 50;
  options_.validation.metrics.chosen = {"exact_match", "bleu"};
  options_.validation.best_by.name = "exact_match";
  options_.validation.beam_size = 2;
  for (const Positions positions : {Positions::learned, Positions::sinusoidal}) {
    options_.model.positions = positions;
    const std::string name(name_of_enum(positions));
    const Captioner captioner(run(name).model, {.threads = 1});
    for (int quarter = 0; quarter < 4; ++quarter)
      EXPECT_EQ(captioner.caption(std::vector{quarter_image(quarter)})[0].text,
                quarter_captions[static_cast<size_t>(quarter)])
          << name;
    EXPECT_EQ(last(name, "validation exact_match"), 100);
    EXPECT_NEAR(last(name, "validation bleu"), 100, 1e-9);
  }
}

TEST_F(ImageCaptioningTest, LearnsWithEveryTokenizer) {
  options_.train.updates = 100;
  options_.validation.every_updates = 100;
  options_.tokenizer.vocab_size = 40;
  for (const TokenizerKind kind :
       {TokenizerKind::sentencepiece, TokenizerKind::characters, TokenizerKind::bytes}) {
    for (const PieceModel model : {PieceModel::unigram, PieceModel::bpe}) {
      if (kind != TokenizerKind::sentencepiece && model == PieceModel::bpe) continue;
      options_.tokenizer.kind = kind, options_.tokenizer.model = model;
      if (kind != TokenizerKind::sentencepiece) options_.tokenizer.vocab_size = 0;
      const std::string name = fmt::format("{}-{}", name_of_enum(kind), name_of_enum(model));
      run(name);
      EXPECT_LT(last(name, "validation loss"), 0.7) << name;
    }
  }
}

/// Augmentation and the captions of validation, too, are functions of sample and epoch.
TEST_F(ImageCaptioningTest, ResumesBitForBit) {
  options_.data.augmentation = {.flip = false, .shift = 1, .cut_out = 2};
  options_.model.dropout = 0.1f;
  options_.validation.every_updates = 4;
  run("whole");
  options_.train.updates = 10;
  run("parts");
  options_.train.updates = 24;
  run("parts", /*resume=*/true);
  EXPECT_TRUE(weights("whole", 24) == weights("parts", 24));
  EXPECT_EQ(last("whole", "validation exact_match"), last("parts", "validation exact_match"));
  options_.data.augmentation.shift = 0;
  run("plain");
  EXPECT_FALSE(weights("whole", 24) == weights("plain", 24)) << "augmentation has no effect";
}

TEST_F(ImageCaptioningTest, HasTheDataAndAModelOfItsVocabulary) {
  const auto task = open();
  const ModelConfig& config = task->model_config();
  EXPECT_EQ(task->training_data().size(), 200);
  EXPECT_EQ(task->validation_data()->size(), 40);
  EXPECT_EQ(config.task, "image_captioning");
  EXPECT_EQ(config.image.height, 8);
  EXPECT_EQ(config.source_vocab, ModelConfig::pixel_values);
  EXPECT_EQ(config.source_tokenizer_hash, "");
  const Dataset& data = task->training_data();
  BatchBuilder builder;
  data.add(3, 0, builder.sample(3));
  const Batch batch = builder.take();
  EXPECT_EQ(batch.tokens(), data.tokens(3, 0));
  EXPECT_EQ(batch.source.rows.tokens(), 9);
  EXPECT_EQ(batch.source.ids_per_row, 16);
  EXPECT_EQ(batch.labels.back(), config.eos);
  const SampleDescription said = data.describe(3);
  EXPECT_EQ(said.texts[0].second, read_lines(folder_ / "train.captions")[3]);
  EXPECT_EQ(nlohmann::json::parse(task->history()).at("texts"), 200);
  std::filesystem::create_directories(folder_ / "model");
  task->write(folder_ / "model");
  EXPECT_EQ(load_tokenizers(folder_ / "model").target->hash(), config.target_tokenizer_hash);
  const std::string train = data.hash(), valid = task->validation_data()->hash();
  EXPECT_EQ(open({{train, valid}})->training_data().hash(), train);
  EXPECT_NE(error_message([&] {
              open({{"00", valid}});
            }).find("is not the data that the run was trained on"),
            std::string::npos);
}

TEST_F(ImageCaptioningTest, CaptionsTakeMemoryOnlyWhereAMetricAsksForThem) {
  options_.validation.metrics.chosen = {"loss"};
  EXPECT_EQ(open()->score_bytes(0), 0);
  options_.validation.metrics.chosen = {"loss", "exact_match"};
  const int64_t greedy = open()->score_bytes(0);
  EXPECT_GT(greedy, 0);
  const MemoryForecast forecast = forecast_memory(*open(), ImageCaptioningConfig(options_).training(), 0);
  EXPECT_GE(forecast.validation, greedy);
  options_.validation.beam_size = 64;
  EXPECT_GT(open()->score_bytes(0), greedy);
  options_.validation.max_images = 1;
  options_.validation.beam_size = 1;
  EXPECT_LT(open()->score_bytes(0), greedy);
}

/// A caption with a word that training does not have can't be said; it is no match.
TEST_F(ImageCaptioningTest, UnknownWordsAreNoMatch) {
  options_.train.updates = 150;
  options_.validation.every_updates = 150;
  std::string captions;
  const auto lines = read_lines(folder_ / "valid.captions");
  for (size_t i = 0; i < lines.size(); ++i) captions += (i < 10 ? "zebra " + lines[i] : lines[i]) + "\n";
  write_file_atomically(folder_ / "valid.captions", captions);
  run("run");
  EXPECT_EQ(last("run", "validation exact_match"), 75);
}

TEST_F(ImageCaptioningTest, StartsFromAModel) {
  options_.start.model = run("first").model;
  options_.tokenizer = {};  // that of the model
  options_.train.updates = 1;
  options_.schedule.learning_rate = 1e-9;
  for (const std::string& advice : ImageCaptioningConfig(options_).advice())
    EXPECT_EQ(advice.find("generation"), std::string::npos) << "its defaults are no choice: " << advice;
  const std::string second = run("second").model;
  EXPECT_EQ(load_model_config(second).target_tokenizer_hash,
            load_model_config(options_.start.model).target_tokenizer_hash);
  const Image image = quarter_image(2);
  EXPECT_EQ(Captioner(second, {.threads = 1}).caption(std::span(&image, 1))[0].text,
            Captioner(options_.start.model, {.threads = 1}).caption(std::span(&image, 1))[0].text);
  options_.image.stride = 4;
  EXPECT_NE(error_message([&] { run("third"); }).find("reads images of 8 x 8 with 1 channel in patches of 4"),
            std::string::npos);
}

TEST_F(ImageCaptioningTest, RefusesWhatDoesNotFit) {
  const auto good = options_;
  const auto expect = [&](std::string_view text) {
    const std::string said = error_message([&] { run("refused"); });
    EXPECT_NE(said.find(text), std::string::npos) << said;
    options_ = good;
  };
  options_.data.train.pop_back();
  expect("data.train: there is an odd number of files; alternate files of images and of their captions");
  options_.data.train[1] = folder_ / "train.images";
  expect("train.images: is an IDX file; captions are the lines of a text");
  write_file_atomically(folder_ / "nul", std::string("a\0b\n", 4));
  options_.data.train[1] = folder_ / "nul";
  expect("nul:1: byte 2 is NUL");
  options_.data.train[0] = folder_ / "train.labels";
  expect("contains labels, not images");
  options_.data.train[1] = options_.data.valid[1];
  expect("fewer items than " + (folder_ / "train.images") + "; caption n must belong to image n");
  options_.image.patch = 3;
  expect("do not cover images of 8 x 8 pixels exactly");
  options_.image.patch = 3;
  options_.data.train[1] = options_.data.valid[1];  // what is wrong with the first image is said first
  expect("do not cover images of 8 x 8 pixels exactly");
  options_.model.tied_embeddings = TiedEmbeddings::all;
  expect("model.tied_embeddings: 'all' ties the embedding of the source, but images have no tokens");
  options_.model.decoder_layers = 0;
  expect("model.decoder_layers is 0");
  options_.model.encoder_layers = 0;
  expect("model.encoder_layers is 0");
  options_.model.max_positions = 8;
  expect("model.max_positions is 8, but an image has 9 patches");
  options_.image.stride = 4, options_.model.max_positions = 6;
  options_.model.beyond_positions = BeyondPositions::error;
  expect("data.train: the caption of image");
  options_.tokenizer.joint = false;
  expect("has one tokenizer, that of the captions");
  options_.validation.metrics.chosen = {"loss"};
  options_.validation.best_by.name = "bleu";
  expect("validation.best_by: 'bleu' is not among validation.metrics");
  options_.start.freeze = {ModelPart::head};
  expect("start.freeze");
  write_file_atomically(folder_ / "gap.captions", "a\n\nb\n");
  options_.data.train[1] = folder_ / "gap.captions";
  expect("gap.captions:2: expected a caption, but the line is empty");
  write_file_atomically(folder_ / "bad.captions", "a\nb\xFF\n");
  options_.data.train[1] = folder_ / "bad.captions";
  expect("bad.captions:2");
}

TEST_F(ImageCaptioningTest, SaysWhichKeysNameFiles) {
  const ImageCaptioningConfig config(options_);
  for (const char* key : {"data.train", "data.valid"})
    EXPECT_EQ(config.on_resume(key), OnResume::input_file) << key;
  EXPECT_EQ(config.on_resume("model.dropout"), OnResume::takes_effect);
  EXPECT_EQ(config.on_resume("image.patch"), OnResume::refused);
  EXPECT_TRUE(config.is_data_file("training.ids"));
  EXPECT_FALSE(config.is_data_file("notes"));
}

TEST_F(ImageCaptioningTest, OtherTasksDoNotStartFromIt) {
  const std::string model = run("run").model;
  const auto message = [&](const std::string& yaml) {
    return error_message([&] {
      train(*task_config_of(
                parse_yaml_options(
                    yaml + "start:\n  model: " + model + "\ntrain:\n  updates: 1\n  threads: 1\n", "c.yaml"),
                "c.yaml"),
            {.run = folder_ / "other"});
    });
  };
  const std::string text = folder_ / "train.captions";
  const std::string pairs = "data:\n  train: [" + text + ", " + text + "]\n";
  EXPECT_NE(message(pairs).find("is a model for the task 'image_captioning', not 'translation'"),
            std::string::npos);
  EXPECT_NE(message("task: language_model\ndata:\n  train: " + text + "\n").find("not 'language_model'"),
            std::string::npos);
  const std::string images =
      "data:\n  train: [" + (folder_ / "train.images") + ", " + (folder_ / "train.labels");
  EXPECT_NE(message("task: image_classification\n" + images + "]\nmodel:\n  preset: tiny\n")
                .find("not 'image_classification'"),
            std::string::npos);
}

TEST_F(ImageCaptioningTest, TheTableKnowsTheTask) {
  const auto read = [](const std::string& more) {
    return task_config_of(
        parse_yaml_options("task: image_captioning\ndata:\n  train: [a, b]\ntrain:\n  updates: 1\n" + more,
                           "c.yaml"),
        "c.yaml");
  };
  OptionNode options = read("model:\n  preset: tiny\n")->options();
  EXPECT_EQ(options.find_path("model.positions")->text, "learned") << "a preset does not change it";
  EXPECT_EQ(options.find_path("model.tied_embeddings")->text, "decoder");
  EXPECT_EQ(options.find_path("generation.length_factor")->text, "0");
  options = read("model:\n  preset: tiny\n  positions: sinusoidal\n  tied_embeddings: none\n")->options();
  EXPECT_EQ(options.find_path("model.positions")->text, "sinusoidal");
  EXPECT_EQ(options.find_path("model.tied_embeddings")->text, "none");
  const auto expect = [&](const std::string& more, std::string_view text) {
    const std::string said = error_message([&] { read(more); });
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  expect("tokenizer:\n  joint: false\n", "c.yaml:7: tokenizer.joint: a model of captions has one tokenizer");
  expect("tokenizer:\n  target: a.spm\n", "tokenizer.target: a model of captions has one tokenizer");
  expect("classifier:\n  pooling: mean\n", "classifier");
  expect("validation:\n  max_sentences: 1\n", "max_sentences");
}

}  // namespace
}  // namespace sixfold
