#include "tasks/translation/task.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backend/backend.h"
#include "base/file.h"
#include "data/corpus.h"
#include "error_message.h"
#include "parallel_text.h"
#include "tasks/tasks.h"
#include "temporary_folder.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

class TranslationTest : public testing::Test {
 protected:
  TranslationTest() {
    write_parallel_text(folder_ / "train.a", folder_ / "train.b", 50, 1);
    write_parallel_text(folder_ / "valid.a", folder_ / "valid.b", 10, 2);
    options_.model = ModelOptions(Preset::tiny);
    options_.tokenizer.kind = TokenizerKind::whitespace;
    options_.tokenizer.vocab_size = 0;
    options_.data.train = {folder_ / "train.a", folder_ / "train.b"};
    options_.data.valid = {folder_ / "valid.a", folder_ / "valid.b"};
    options_.train.updates = 1;
  }

  std::unique_ptr<Task> open(const std::optional<TaskStart::Resumed>& resumed = {}) const {
    std::filesystem::create_directories(folder_ / "run");
    return TranslationConfig(options_).open({.run = folder_ / "run", .model = "", .resumed = resumed});
  }

  TemporaryFolder folder_;
  TranslationOptions options_;
};

TEST_F(TranslationTest, HasTheTextAndAModelOfItsVocabulary) {
  const auto task = open();
  EXPECT_EQ(task->training_data().size(), 50);
  ASSERT_TRUE(task->validation_data());
  EXPECT_EQ(task->validation_data()->size(), 10);
  EXPECT_NE(task->training_data().hash(), task->validation_data()->hash());
  EXPECT_EQ(task->model_config().d_model, 128);
  EXPECT_EQ(task->model_config().source_vocab, 8 + 3);
  const auto history = nlohmann::json::parse(task->history());
  EXPECT_EQ(history.at("pairs"), 50);
  EXPECT_EQ(history.at("text").at(1).at("path"), folder_ / "train.b");
  std::filesystem::create_directories(folder_ / "model");
  task->write(folder_ / "model");
  EXPECT_EQ(load_tokenizers(folder_ / "model").source->hash(), task->model_config().source_tokenizer_hash);
  options_.data.valid = {};
  EXPECT_FALSE(open()->validation_data());
}

TEST_F(TranslationTest, TextThatTheVocabularyDoesNotKnowIsRefused) {
  options_.tokenizer.vocab_size = 3 + 4;  // of 8 words
  const std::string message = error_message([&] { open(); });
  EXPECT_NE(message.find("of the source tokens are not in the vocabulary"), std::string::npos) << message;
  EXPECT_NE(message.find("set data.allow_unknown"), std::string::npos) << message;
  options_.data.allow_unknown = true;
  const auto task = open();
  EXPECT_EQ(task->training_data().size(), 50);
  options_.data.allow_unknown = false;  // a run that was accepted goes on
  const TaskStart::Resumed resumed{task->training_data().hash(), task->validation_data()->hash()};
  EXPECT_EQ(open(resumed)->training_data().size(), 50);
}

TEST_F(TranslationTest, MetricsThatNeedTranslationsTakeMoreMemoryThanSamples) {
  write_parallel_text(folder_ / "valid.a", folder_ / "valid.b", 500, 2);
  const int64_t samples = open()->score_bytes(0);
  EXPECT_GT(samples, 0);
  std::filesystem::remove_all(folder_ / "run");
  options_.validation.metrics.chosen = {"loss", "chrf"};
  const int64_t greedy = open()->score_bytes(0);
  EXPECT_GT(greedy, samples);
  options_.validation.beam_size = 16;
  EXPECT_GT(open()->score_bytes(0), greedy);
}

/// Validation translates the pairs that are kept: another one may have more tokens than the model has
/// positions.
TEST_F(TranslationTest, ValidationLeavesOutWhatTrainingWouldDrop) {
  std::string too_long;
  for (int i = 0; i < 30; ++i) too_long += "w1 ";
  write_file_atomically(folder_ / "valid.a", "w1 w2\n" + too_long + "\nw3\n");
  write_file_atomically(folder_ / "valid.b", "w2 w1\nw1\nw3\n");
  options_.model.positions = Positions::learned;
  options_.model.max_positions = 20;
  options_.model.beyond_positions = BeyondPositions::error;
  options_.data.max_length = 15;
  options_.validation.metrics.chosen = {"loss", "bleu"};
  const auto task = open();
  EXPECT_EQ(task->validation_data()->size(), 2);
  const auto backend = make_backend();
  Transformer model(task->model_config(), backend, DType::f32, 1);
  model.pack();
  const Evaluation all = task->evaluate(model, {.arena = std::make_shared<Arena>(backend)});
  ASSERT_EQ(all.samples.size(), 2u);
  EXPECT_EQ(all.samples[1].reference, "w3");
}

/// They are the same whether all sentences are translated for a metric or only the samples.
TEST_F(TranslationTest, ValidationShowsShortSentencesAndTheAttentionOfOne) {
  write_file_atomically(folder_ / "valid.a", std::string(201, 'a') + "\nw1 w2\nw3 w1\nw2 w3\nw1\nw3\n");
  write_file_atomically(folder_ / "valid.b", "w4\nw2 w1\nw1 w3\nw3 w2\nw1\nw3\n");
  const auto evaluate = [&] {
    const auto task = open();
    const auto backend = make_backend();
    Transformer model(task->model_config(), backend, DType::f32, 1);
    model.pack();
    return task->evaluate(model, {.arena = std::make_shared<Arena>(backend)});
  };
  const Evaluation few = evaluate();
  EXPECT_TRUE(few.scores.empty());
  options_.validation.metrics.chosen = {"loss", "bleu"};
  const Evaluation all = evaluate();
  EXPECT_TRUE(all.scores.contains("bleu"));
  ASSERT_EQ(few.samples.size(), 4u);
  ASSERT_EQ(all.samples.size(), 4u);
  for (size_t i = 0; i < few.samples.size(); ++i) {
    EXPECT_EQ(few.samples[i].output, all.samples[i].output);
    EXPECT_LE(few.samples[i].output.size(), 203u);
    EXPECT_EQ(few.samples[i].attention.has_value(), i == 0);
  }
  EXPECT_EQ(few.samples[0].input, "w1 w2");
  EXPECT_EQ(few.samples[0].reference, "w2 w1");
  EXPECT_EQ(few.samples[3].input, "w1");
  const SampleAttention& seen = *few.samples[0].attention;
  EXPECT_EQ(seen.layer, options_.model.decoder_layers - 2);
  ASSERT_EQ(seen.source.size(), 3u);
  EXPECT_EQ(seen.target.size(), 3u);
  EXPECT_EQ(seen.source[0], "w1");
  ASSERT_EQ(seen.weights.size(), 9u);
  for (size_t row = 0; row < 3; ++row)
    EXPECT_NEAR(seen.weights[3 * row] + seen.weights[3 * row + 1] + seen.weights[3 * row + 2], 1, 1e-5);
}

/// A run that is resumed finds the text that it began with, or an error that names it.
TEST_F(TranslationTest, OtherTextIsNotTakenForThatOfTheRun) {
  const auto task = open();
  const std::string train = task->training_data().hash(), valid = task->validation_data()->hash();
  EXPECT_EQ(open({{train, valid}})->training_data().hash(), train);
  EXPECT_NE(error_message([&] {
              open({{"00", valid}});
            }).find("is not the text that the run was trained on"),
            std::string::npos);
  EXPECT_NE(error_message([&] {
              open({{train, "00"}});
            }).find("is not the validation text of this run"),
            std::string::npos);
}

TEST_F(TranslationTest, TheLanguagesOfTheConfigChooseThePairsOfAMemory) {
  const std::string lines_hash = open()->training_data().hash();
  std::string memory = "<tmx><body>";
  PairReader pairs(corpus_files(options_.data.train, "data.train"), InvalidUtf8::error);
  for (std::string source, target; pairs.next(source, target);)
    memory += "<tu><tuv lang=\"de\"><seg>" + target + "</seg></tuv><tuv lang=\"en\"><seg>" + source +
              "</seg></tuv></tu>\n";
  write_file_atomically(folder_ / "train.tmx", memory + "</body></tmx>");
  options_.data.train = {folder_ / "train.tmx"};
  expect_holds(error_message([&] { open(); }), "data.train: " + (folder_ / "train.tmx"));
  options_.data.source_language = "en", options_.data.target_language = "de";
  EXPECT_EQ(open()->training_data().hash(), lines_hash);
  EXPECT_EQ(open()->training_data().size(), 50);
  options_.data.source_language = "de", options_.data.target_language = "en";
  EXPECT_NE(open()->training_data().hash(), lines_hash) << "the stored text is of other languages";
}

TEST_F(TranslationTest, SaysWhichKeysNameFiles) {
  const TranslationConfig config(options_);
  for (const char* key : {"data.train", "data.valid", "tokenizer.source", "tokenizer.target"})
    EXPECT_EQ(config.on_resume(key), OnResume::input_file) << key;
  EXPECT_EQ(config.on_resume("model.dropout"), OnResume::takes_effect);
  EXPECT_EQ(config.on_resume("model.d_model"), OnResume::refused);
  EXPECT_TRUE(config.is_data_file("source.ids"));
  EXPECT_FALSE(config.is_data_file("notes"));
}

/// What 0.1.0 stored comes back under the names of today, complete.
TEST_F(TranslationTest, StoredOptionsAreBroughtUpToDate) {
  const OptionNode stored =
      parse_json_options(R"({"model": {"search": {"alpha": 0.5}}, "train": {"seed": 7}})", "state.json");
  TranslationOptions options;
  read_options(TranslationConfig(options_).read_stored(stored), options);
  EXPECT_EQ(options.generation.length_penalty, 0.5f);
  EXPECT_EQ(options.train.seed, 7u);
  EXPECT_EQ(to_json(TranslationConfig(options_).read_stored(write_options(options_))),
            to_json(write_options(options_)));
}

TEST(Tasks, TranslationIsTheFirst) {
  EXPECT_EQ(builtin_tasks().front().name, "translation");
  EXPECT_EQ(to_json(builtin_tasks().front().default_options()), to_json(write_options(TranslationOptions())));
}

}  // namespace
}  // namespace sixfold
