#include "tasks/translation/confidence.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/random.h"
#include "error_message.h"
#include "metrics/calibration.h"
#include "metrics/chrf.h"
#include "model_folder/binding.h"
#include "model_folder/config_file.h"
#include "model_folder/derived.h"
#include "tasks/translation/settings.h"
#include "tasks/translation/task.h"
#include "tasks/translation/translator_fixture.h"
#include "text/utf8.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

std::vector<double> stored_in(const std::string& folder) {
  return settings_of<TranslationSettings>(load_model_config(folder)).confidence;
}

void store(const std::vector<double>& weights, const std::string& folder) {
  ModelConfig config = load_model_config(folder);
  auto settings = settings_of<TranslationSettings>(config);
  settings.confidence = weights;
  config.settings = write_options(settings);
  save_config(folder + "/config.json", config);
}

using Confidences = std::vector<std::optional<LineConfidence>>;

/// The confidence of the best translation of each line.
Confidences confidence_of(const Translator& translator, const std::vector<std::string>& lines,
                          TranslateOptions options = {}) {
  Confidences found;
  options.details.confidence = true;
  translator.translate(lines, options,
                       [&](const TranslatedLine& line) { found.push_back(line.translations[0].confidence); });
  return found;
}

void expect_equal(const Confidences& a, const Confidences& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].has_value(), b[i].has_value()) << i;
    if (!a[i]) continue;
    EXPECT_EQ(a[i]->value, b[i]->value) << i;
    EXPECT_EQ(a[i]->mean_log_probability, b[i]->mean_log_probability) << i;
    EXPECT_EQ(a[i]->tokens, b[i]->tokens) << i;
  }
}

/// A model that has learnt nothing, with weights that no fit would give but that every feature has a part in.
class RatedTranslator : public TranslatorTest {
 protected:
  RatedTranslator() {
    std::filesystem::copy(path(), rated_);
    std::vector<double> weights{0.5};
    for (size_t f = 0; f < confidence_features; ++f) weights.push_back(f % 2 == 0 ? 0.01 : -0.013);
    store(weights, rated_);
  }
  TemporaryFolder own_;
  const std::string rated_ = own_ / "rated";
};

TEST_F(RatedTranslator, ALineDoesNotDependOnOthersNorOnThreadsNorOnTheSearch) {
  const Translator one(rated_, {.threads = 1}), four(rated_, {.threads = 4});
  const auto text = lines();
  const Confidences all = confidence_of(one, text);
  expect_equal(all, confidence_of(four, text, {.batch_tokens = 64}));
  expect_equal(all, confidence_of(four, text, {.n_best = 3}));  // the model's beam is wide enough
  TranslateOptions with_others;
  with_others.details = {.tokens = true, .alignment = true, .attention = true, .layer = 1};
  expect_equal(all, confidence_of(one, text, with_others));
  Confidences alone;
  for (const std::string& line : text) alone.push_back(confidence_of(one, {line}).front());
  expect_equal(all, alone);
  int differing = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].has_value(), has_visible_character(text[i])) << text[i];
    if (!all[i]) continue;
    EXPECT_GT(all[i]->value, 0);
    EXPECT_LT(all[i]->value, 1);
    differing += all[i]->value != all[0]->value;
  }
  EXPECT_GT(differing, 3);
}

TEST_F(RatedTranslator, ChangesNoBitOfTheTranslation) {
  const Translator translator(rated_, {.threads = 1});
  std::vector<Translation> plain, rated;
  translator.translate(lines(), {}, [&](const TranslatedLine& line) { plain.push_back(line.translations[0]); });
  translator.translate(lines(), {.details = {.confidence = true}},
                       [&](const TranslatedLine& line) { rated.push_back(line.translations[0]); });
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain[i].text, rated[i].text);
    EXPECT_EQ(plain[i].score, rated[i].score);
    EXPECT_FALSE(plain[i].confidence);
    if (!rated[i].confidence) continue;
    EXPECT_NEAR(rated[i].confidence->mean_log_probability * static_cast<double>(rated[i].confidence->tokens),
                rated[i].log_probability, 1e-3);
  }
}

/// A translation that was cut has no end token, and the model may have no position for one.
TEST_F(RatedTranslator, ReadsNoEndWhereThereIsNone) {
  const Translator translator(rated_, {.threads = 1});
  TranslateOptions options{.generation = translator.generation(), .details = {.confidence = true}};
  options.generation->max_new_tokens = 3;
  options.generation->at_longest = AtLongest::cut;
  int cut = 0;
  translator.translate(lines(), options, [&](const TranslatedLine& line) {
    const Translation& best = line.translations[0];
    if (best.reason != FinishReason::cut) return;
    ++cut;
    ASSERT_TRUE(best.confidence);
    EXPECT_NEAR(best.confidence->mean_log_probability * static_cast<double>(best.confidence->tokens),
                best.log_probability, 1e-3);
  });
  EXPECT_GT(cut, 0);
}

/// A given translation has the same confidence as the model's own.
TEST_F(RatedTranslator, RatesGivenTranslations) {
  const Translator translator(rated_, {.threads = 2});
  const auto tokenizer = load_text_tokenizers(rated_).target;
  std::vector<std::string> sources, targets;
  Confidences own;
  translator.translate(lines(), {.details = {.confidence = true}}, [&](const TranslatedLine& line) {
    const Translation& best = line.translations[0];
    // An output that was cut, or whose tokens have no text, is not read back as it was.
    const auto ids = tokenizer->encode(best.text);
    if (!best.confidence || std::ssize(ids) + 1 != best.confidence->tokens) return;
    sources.push_back(line.source), targets.push_back(best.text), own.push_back(best.confidence);
  });
  ASSERT_GT(sources.size(), 0u);
  Confidences given;
  for (const Translation& scored : translator.score(sources, targets, {.details = {.confidence = true}}))
    given.push_back(scored.confidence);
  for (size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i]->value, given[i]->value, 0.05) << targets[i];
}

TEST_F(RatedTranslator, AParagraphHasTheMeanOfItsTokens) {
  const Translator translator(rated_, {.threads = 1});
  const auto text = sample::english();
  const std::vector<std::string> sentences{text[0] + ".", text[1] + ".", text[2] + "."};
  const Confidences parts = confidence_of(translator, sentences);
  const auto whole = confidence_of(
      translator, {sentences[0] + " " + sentences[1] + " " + sentences[2], "", " "}, {.split_sentences = "en"});
  double sum = 0;
  int64_t tokens = 0;
  for (const auto& part : parts) {
    sum += part->value * static_cast<double>(part->tokens);
    tokens += part->tokens;
  }
  ASSERT_TRUE(whole[0]);
  EXPECT_EQ(whole[0]->tokens, tokens);
  EXPECT_NEAR(whole[0]->value, sum / static_cast<double>(tokens), 1e-12);
  EXPECT_FALSE(whole[1]);
  EXPECT_FALSE(whole[2]);
}

TEST_F(RatedTranslator, ALineThatIsKeptHasNone) {
  const Translator translator(rated_, {.threads = 1});
  const Confidences found = confidence_of(translator, {"...", "a \u2047 \u4e16 b"}, {.keep_symbols = true});
  EXPECT_FALSE(found[0]);
  EXPECT_TRUE(found[1]);  // with unknown tokens
}

TEST_F(RatedTranslator, SaysThatAModelHasNone) {
  const Translator without(path(), {.threads = 1});
  const std::string message = error_message([&] { confidence_of(without, {"a"}); });
  EXPECT_NE(message.find("'sixfold confidence' fits it"), std::string::npos) << message;
  EXPECT_NE(error_message([&] {
              without.score(std::vector<std::string>{"a"}, std::vector<std::string>{"b"},
                            {.details = {.confidence = true}});
            }).find("no confidence"),
            std::string::npos);
  store({0.5, 1}, rated_);
  const Translator other(rated_, {.threads = 1});
  EXPECT_NE(error_message([&] { confidence_of(other, {"a"}); }).find("translation.confidence has 2 numbers"),
            std::string::npos);
}

TEST_F(RatedTranslator, BelongsToItsWeights) {
  const std::string quantized = own_ / "int8", mean = own_ / "mean";
  quantize_model(rated_, quantized);
  EXPECT_EQ(stored_in(quantized), stored_in(rated_));
  const Translator translator(quantized, {.threads = 1});
  EXPECT_TRUE(confidence_of(translator, {"a man"})[0]);
  average_models({rated_, path()}, mean);
  EXPECT_TRUE(stored_in(mean).empty());
}

/// A language in which most words have one translation, and those that begin with "x" one of eight that nothing
/// tells: what a model makes of them is right in one of eight cases.
struct UnclearText {
  std::string source, target;
  std::vector<int> unclear;
};

UnclearText unclear_text(uint64_t seed, int count) {
  RandomStream random(seed, 0);
  UnclearText lines;
  for (int i = 0; i < count; ++i) {
    const uint32_t words = 4 + random.below(4), unclear = random.below(words + 1);
    for (uint32_t w = 0; w < words; ++w) {
      const bool clear = w >= unclear;
      const uint32_t number = random.below(8);
      const char vowel = "aeiouäöü"[number % 5];
      lines.source += (w > 0 ? " " : "") +
                      (clear ? std::string{"bdfgklmn"[number], vowel, 's'} : "x" + std::string(1, vowel));
      const uint32_t meant = clear ? number : random.below(8);
      lines.target += (w > 0 ? " " : "") + std::string(3, (clear ? "bdfgklmn" : "hjpqrtvw")[meant]);
    }
    lines.source += "\n", lines.target += "\n";
    lines.unclear.push_back(static_cast<int>(unclear));
  }
  return lines;
}

class FittedConfidence : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    for (const auto& [name, seed, count] : {std::tuple("train", 1, 3000), {"valid", 2, 300}, {"few", 3, 199}}) {
      const UnclearText lines = unclear_text(static_cast<uint64_t>(seed), count);
      write_file_atomically(*folder_ / (std::string(name) + ".a"), lines.source);
      write_file_atomically(*folder_ / (std::string(name) + ".b"), lines.target);
    }
    write_file_atomically(*folder_ / "config.yaml", R"(
model: {d_model: 32, d_ff: 64, heads: 2, encoder_layers: 1, decoder_layers: 2, dropout: 0}
tokenizer: {kind: whitespace, vocab_size: 0}
data: {batch_tokens: 1000}
train: {updates: 600, label_smoothing: 0, threads: 1, precision: fp32}
schedule: {kind: constant, learning_rate: 5e-3, warmup: 20}
validation: {every_updates: 1000, metrics: [loss], best_by: loss}
)");
    train_with("run", "valid", {});
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string files(const std::string& name) {
    return *folder_ / (name + ".a") + "," + (*folder_ / (name + ".b"));
  }
  static void train_with(const std::string& run, const std::string& valid, std::vector<std::string> changes) {
    changes.push_back("data.train=" + files("train"));
    if (!valid.empty()) changes.push_back("data.valid=" + files(valid));
    train(TranslationConfig(read_translation_options(*folder_ / "config.yaml", changes)),
          {.run = *folder_ / run});
  }
  static std::string model() { return *folder_ / "run/model"; }

  inline static TemporaryFolder* folder_ = nullptr;
};

TEST_F(FittedConfidence, TellsWhichLinesAreTranslatedWell) {
  const UnclearText test = unclear_text(9, 200);
  std::vector<std::string> sources, references;
  std::istringstream source(test.source), target(test.target);
  for (std::string line; std::getline(source, line);) sources.push_back(line);
  for (std::string line; std::getline(target, line);) references.push_back(line);
  std::vector<double> confidence, chrf, clear;
  const Chrf metric;
  const Translator translator(model(), {.threads = 1});
  translator.translate(sources, {.details = {.confidence = true}}, [&](const TranslatedLine& line) {
    MetricSums sums(metric);
    sums.add(line.translations[0].text, {&references[line.index], 1});
    chrf.push_back(sums.score() / 100);
    confidence.push_back(line.translations[0].confidence->value);
    if (test.unclear[line.index] == 0) clear.push_back(confidence.back());
  });
  EXPECT_GT(correlation(confidence, chrf).value_or(0), 0.8);
  EXPECT_LT(calibration_error(reliability(confidence, chrf)), 0.08);
  for (const double of_clear_line : clear) EXPECT_GT(of_clear_line, 0.8);
}

TEST_F(FittedConfidence, IsAFunctionOfTheRun) {
  ASSERT_EQ(stored_in(model()).size(), confidence_features + 1);
  train_with("again", "valid", {});
  EXPECT_EQ(stored_in(*folder_ / "again/model"), stored_in(model()));
  // A checkpoint is not the result, and has none; nor has a model that goes on from another and has no text.
  EXPECT_TRUE(stored_in(*folder_ / "run/checkpoints/update-000000600").empty());
  train_with("further", "", {"start.model=" + model(), "train.updates=1"});
  EXPECT_TRUE(stored_in(*folder_ / "further/model").empty());
}

TEST_F(FittedConfidence, NeedsTextAndDifferences) {
  train_with("few", "few", {"train.updates=1"});
  EXPECT_TRUE(stored_in(*folder_ / "few/model").empty());
  // Every line is the same, so that its translations are.
  std::string same, other;
  for (int i = 0; i < 300; ++i) same += "bas das\n", other += "bbb ddd\n";
  write_file_atomically(*folder_ / "same.a", same);
  write_file_atomically(*folder_ / "same.b", other);
  train_with("same", "same", {"train.updates=1"});
  EXPECT_TRUE(stored_in(*folder_ / "same/model").empty());
}

}  // namespace
}  // namespace sixfold
