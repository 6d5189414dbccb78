#include "tasks/language_model/task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "error_message.h"
#include "model_folder/model_folder.h"
#include "tasks/language_model/generator.h"
#include "tasks/tasks.h"
#include "temporary_folder.h"
#include "text/tokenizers.h"
#include "train/trainer.h"
#include "train/training_log.h"

namespace sixfold {
namespace {

class LanguageModelTest : public testing::Test {
 protected:
  LanguageModelTest() {
    write_text(folder_ / "train", 400);
    write_text(folder_ / "valid", 40);
    options_.model.d_model = 32, options_.model.d_ff = 64, options_.model.heads = 2;
    options_.model.decoder_layers = 2;
    options_.model.dropout = 0;
    options_.tokenizer.kind = TokenizerKind::characters;
    options_.data.train = {folder_ / "train"};
    options_.data.valid = {folder_ / "valid"};
    options_.data.block_tokens = 24;
    options_.data.batch_tokens = 480;
    options_.train.updates = 24;
    options_.train.threads = 1;
    options_.train.precision = Precision::fp32;
    options_.schedule.kind = ScheduleKind::constant;
    options_.schedule.learning_rate = 5e-3;
    options_.schedule.warmup = 3;
    options_.checkpoint.every_updates = 10;
    options_.validation.every_updates = 12;
  }
  /// Counting: "zero one two three zero one ...", in lines of four words.
  static void write_text(const std::string& path, int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i) text += "zero one two three\n";
    write_file_atomically(path, text);
  }
  TrainOutcome run(const std::string& name, bool resume = false) const {
    return train(LanguageModelConfig(options_), {.run = folder_ / name, .resume = resume});
  }
  /// The weights of the newest checkpoint of a run.
  std::string weights(const std::string& name, int update) const {
    return read_file(folder_ / name + fmt::format("/checkpoints/update-{:09}/model.safetensors", update));
  }
  void expect_same_weights(const std::string& a, const std::string& b, int update = 24) const {
    EXPECT_TRUE(weights(a, update) == weights(b, update)) << a << " " << b;
  }

  TemporaryFolder folder_;
  LanguageModelOptions options_;
};

TEST_F(LanguageModelTest, HasTheTextAndAModelOfItsVocabulary) {
  std::filesystem::create_directories(folder_ / "run");
  const auto task = LanguageModelConfig(options_).open({.run = folder_ / "run", .model = ""});
  const ModelConfig& config = task->model_config();
  EXPECT_EQ(config.encoder_layers, 0);
  EXPECT_EQ(config.target_vocab, 3 + 2 + 8);  // the special tokens, line feed and space, and e h n o r t w z
  EXPECT_EQ(config.decoder_start_token, 1);
  EXPECT_EQ(config.context_tokens, 24);
  EXPECT_EQ(settings_of<LanguageModelSettings>(config).text_unit, TextUnit::stream);
  EXPECT_EQ(config.generation.suppress_tokens, std::vector{config.eos});  // a stream does not end
  options_.generation.suppress_tokens = {config.eos, 5};
  options_.data.unit = TextUnit::line;
  std::filesystem::create_directories(folder_ / "lines");
  const auto lines = LanguageModelConfig(options_).open({.run = folder_ / "lines", .model = ""});
  EXPECT_EQ(lines->model_config().generation.suppress_tokens, (std::vector{config.eos, 5}))
      << "as it was asked for";
  options_.generation.suppress_tokens = {}, options_.data.unit = TextUnit::stream;
  EXPECT_EQ(task->training_data().size(), 400 * 19 / 24);
  EXPECT_EQ(task->validation_data()->size(), (40 * 19 + 23) / 24);
  const auto history = nlohmann::json::parse(task->history());
  EXPECT_EQ(history.at("text").at(0).at("path"), folder_ / "train");
  options_.data.valid = {};
  EXPECT_FALSE(LanguageModelConfig(options_).open({.run = folder_ / "run", .model = ""})->validation_data());
}

/// A model that has learned to count goes on to count, beyond the blocks that it was trained on too.
TEST_F(LanguageModelTest, LearnsToCount) {
  options_.train.updates = 150;
  const Generator generator(run("run").model, {.threads = 1});
  const auto texts =
      generator.generate(std::vector<std::string>{"zero one"}, {.max_tokens = 60, .draw = {.temperature = 0}});
  EXPECT_EQ(
      texts[0].texts[0].text,
      std::string(" two three\nzero one two three\nzero one two three\nzero one two three\n").substr(0, 60));
  EXPECT_LT(generator.score(folder_ / "valid").bits_per_byte(), 0.2);
}

/// A text has the same tokens in training, in validation and where it is scored: its spaces are kept.
TEST_F(LanguageModelTest, KnowsATextByTheSameTokensAlways) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += fmt::format("if x{}:\n    a  = f(x)\n  return a\n\n", i % 7);
  write_file_atomically(folder_ / "train", text);
  write_file_atomically(folder_ / "valid", "if x3:\n    a  = f(x)\n");
  options_.data.block_tokens = 64;  // the validation text is one block
  options_.train.updates = 12;
  for (const auto kind : {TokenizerKind::sentencepiece, TokenizerKind::characters, TokenizerKind::bytes}) {
    const std::string name(name_of_enum(kind));
    options_.tokenizer.kind = kind;
    options_.tokenizer.vocab_size = kind == TokenizerKind::sentencepiece ? 300 : 0;
    const TextScore score = Generator(run(name).model, {.threads = 1}).score(folder_ / "valid");
    const auto log = read_training_log(folder_ / name + "/train.jsonl");
    EXPECT_NEAR(log.at("validation loss").values.back(), score.loss_per_token(), 1e-4) << name;
  }
}

TEST_F(LanguageModelTest, LearnsFromTextsThatEnd) {
  options_.data.unit = TextUnit::line;
  options_.train.updates = 150;
  const Generator generator(run("run").model, {.threads = 1});
  const auto texts =
      generator.generate(std::vector<std::string>{"zero", ""}, {.max_tokens = 60, .draw = {.temperature = 0}});
  EXPECT_EQ(texts[0].texts[0].text, " one two three");
  EXPECT_EQ(texts[0].texts[0].reason, FinishReason::end_token);
  EXPECT_EQ(texts[1].texts[0].text, "zero one two three");
}

TEST_F(LanguageModelTest, HasNothingToAlign) {
  EXPECT_TRUE(LanguageModelConfig(options_).advice().empty());
  options_.train.alignment_weight = 5;
  EXPECT_EQ(LanguageModelConfig(options_).advice(),
            std::vector<std::string>{"train.alignment_weight has no effect: only translations are aligned"});
}

TEST_F(LanguageModelTest, HasNoEncoderToFreeze) {
  options_.start.model = "model";
  for (const ModelPart part : {ModelPart::encoder, ModelPart::head}) {
    options_.start.freeze = {part};
    EXPECT_NE(error_message([&] { run("refused"); }).find("start.freeze: a language model has no "),
              std::string::npos);
  }
}

TEST_F(LanguageModelTest, ResumesBitForBit) {
  options_.model.dropout = 0.1f;
  run("whole");
  options_.train.updates = 13;
  run("resumed");
  options_.train.updates = 24;
  run("resumed", /*resume=*/true);
  expect_same_weights("resumed", "whole");
}

/// The text is needed once: what was encoded is trained on, and another text is refused.
TEST_F(LanguageModelTest, ResumesWithTheTextThatItBeganWith) {
  run("whole");
  options_.train.updates = 13;
  run("run");
  options_.train.updates = 24;
  write_text(folder_ / "train", 7);
  run("run", /*resume=*/true);
  expect_same_weights("run", "whole");
  options_.train.updates = 30;
  std::filesystem::remove_all(folder_ / "run/encoded-text");
  EXPECT_NE(error_message([&] {
              run("run", /*resume=*/true);
            }).find("is not the training data that the run began with"),
            std::string::npos);
  write_text(folder_ / "train", 400);
  EXPECT_NO_THROW(run("run", /*resume=*/true));
}

TEST_F(LanguageModelTest, TrainsAlikeWithAnyNumberOfThreads) {
  run("one");
  options_.train.threads = 2;
  run("two");
  expect_same_weights("one", "two");
}

TEST_F(LanguageModelTest, StartsFromAModel) {
  const std::string model = run("first").model;
  options_.start.model = model;
  options_.data.block_tokens = 12;
  options_.train.updates = 5;
  const ModelConfig config = load_model_config(run("second").model);
  EXPECT_EQ(config.context_tokens, 12);
  EXPECT_EQ(config.d_model, 32);
  options_.start.model.clear();
  options_.model.positions = Positions::learned;
  options_.model.max_positions = 12;
  options_.start.model = run("learned").model;
  options_.model.positions = Positions::sinusoidal;  // without effect, as all of the model's sizes
  options_.data.block_tokens = 13;
  EXPECT_NE(error_message([&] { run("longer"); }).find("has 12 learned positions, but data.block_tokens is 13"),
            std::string::npos);
}

TEST_F(LanguageModelTest, TellsOfCharactersThatItDoesNotKnow) {
  std::filesystem::create_directories(folder_ / "run");
  options_.tokenizer.vocab_size = 3 + 2 + 4;
  testing::internal::CaptureStderr();
  LanguageModelConfig(options_).open({.run = folder_ / "run", .model = ""});
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("the text has 10 characters, but tokenizer.vocab_size 9 keeps only 6"), std::string::npos)
      << log;
  EXPECT_NE(log.find("are not in the vocabulary"), std::string::npos) << log;
}

/// Characters that stand on blank lines only are characters of a stream too.
TEST_F(LanguageModelTest, KnowsTheCharactersOfBlankLines) {
  std::filesystem::create_directories(folder_ / "run");
  write_file_atomically(folder_ / "train", "zero one two three\n\t\nzero one two three\n");
  const auto task = LanguageModelConfig(options_).open({.run = folder_ / "run", .model = ""});
  EXPECT_EQ(task->model_config().target_vocab, 3 + 2 + 8 + 1);
}

/// Every mixer that a decoder can have learns, generates and scores.
TEST_F(LanguageModelTest, HasEveryMixer) {
  for (const auto& [kind, name] : EnumNames<MixerKind>::names) {
    if (kind == MixerKind::bahdanau) continue;
    options_.model.decoder_mixer = kind;
    options_.model.positions = is_self_attention(kind) ? Positions::rotary : Positions::none;
    const std::string model = run(std::string(name)).model;
    const Generator generator(model, {.threads = 1});
    const auto texts =
        generator.generate(std::vector<std::string>{"zero o"}, {.max_tokens = 15, .draw = {.temperature = 0}});
    EXPECT_GT(texts[0].texts[0].tokens, 0u) << name;
    EXPECT_TRUE(std::isfinite(generator.score(folder_ / "valid").perplexity())) << name;
  }
}

TEST_F(LanguageModelTest, RefusesWhatNeedsASource) {
  const auto refuse = [&](const std::string& yaml, const std::string& part) {
    const std::string path = folder_ / "config.yaml";
    write_file_atomically(path, "task: language_model\ndata: {train: [a]}\ntrain: {updates: 1}\n" + yaml);
    EXPECT_NE(error_message([&] { read_task_config(path, {}); }).find(part), std::string::npos)
        << error_message([&] { read_task_config(path, {}); });
  };
  refuse("model: {encoder_layers: 2}\n", "config.yaml:4: model.encoder_layers: a language model has no source");
  refuse("tokenizer: {joint: false}\n", "tokenizer.joint: a language model has no source");
  refuse("tokenizer: {target_normalization: nfkc}\n",
         "tokenizer.target_normalization: a language model has no");
  refuse("model: {decoder_layers: 0}\n", "model.decoder_layers is 0");
  refuse("model: {decoder_mixer: bahdanau}\n", "bahdanau' attends to the source");
  refuse("model: {positions: relative_index}\n", "divides by the length of the source");
  refuse("model: {positions: learned, max_positions: 100}\n",
         "model.max_positions is 100, but data.block_tokens is 256");
  refuse("model: {tied_embeddings: source}\n", "ties the embedding of a source");
  refuse("model: {norm: batch}\n", "'batch' normalizes over the tokens of a batch");
  refuse("validation: {patience: 1}\n", "validation.patience: there is no validation data");
  refuse("sheep: 1\n", "sheep");
  const std::string path = folder_ / "config.yaml";
  write_file_atomically(path, "task: langage_model\n");
  EXPECT_NE(error_message([&] { read_task_config(path, {}); }).find("did you mean 'language_model'?"),
            std::string::npos);
}

/// A preset brings an encoder, which a language model leaves out.
TEST(LanguageModelOptions, AreReadFromAConfig) {
  const TemporaryFolder folder;
  const std::string path = folder / "config.yaml";
  write_file_atomically(
      path, "task: language_model\nmodel: {preset: tiny}\ndata: {train: [a]}\ntrain: {updates: 1}\n");
  const auto config = read_task_config(path, {"data.block_tokens=64", "tokenizer.normalization=nfkc"});
  OptionNode options = config->options();
  EXPECT_EQ(options.find("task")->text, "language_model");
  EXPECT_EQ(options.find("model")->find("encoder_layers")->text, "0");
  EXPECT_EQ(options.find("model")->find("d_model")->text, "128");
  EXPECT_EQ(options.find("data")->find("block_tokens")->text, "64");
  EXPECT_EQ(options.find_path("tokenizer.target_normalization")->text, "nfkc");
  const std::string stored = folder / "config.json";  // as a run stores it
  write_file_atomically(stored, to_json(options));
  EXPECT_EQ(to_json(read_task_config(stored, {})->options()), to_json(options));
}

}  // namespace
}  // namespace sixfold
