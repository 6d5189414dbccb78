// One model for several pairs of languages (data.languages), and how often it sees each text
// (data.temperature).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/random.h"
#include "error_message.h"
#include "tasks/translation/task.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "text/capitals.h"
#include "text/language_tokens.h"
#include "text/tokenizers.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// Languages that have the same words with another letter before their numbers: "e3 e7" is "d3 d7".
class LanguagesOfAModel : public testing::Test {
 protected:
  LanguagesOfAModel() {
    write("train.ed", 'e', 'd', 120, 1);
    write("train.ef", 'e', 'f', 60, 2);
    write("train.de", 'd', 'e', 30, 3);
    for (const char* pair : {"ed", "ef", "de"}) write("valid." + std::string(pair), pair[0], pair[1], 8, 9);
  }

  void write(const std::string& name, char source, char target, int lines, uint64_t seed) const {
    RandomStream random(seed, 0);
    std::string text;
    for (int i = 0; i < lines; ++i) {
      std::string a, b;
      for (uint32_t n = 1 + random.below(4); n > 0; --n) {
        const uint32_t word = random.below(10);
        a += fmt::format("{}{}{}", a.empty() ? "" : " ", source, word);
        b += fmt::format("{}{}{}", b.empty() ? "" : " ", target, word);
      }
      text += a + "\t" + b + "\n";
    }
    write_file_atomically(folder_ / (name + ".tsv"), text);
  }

  std::string files(const std::string& part) const {
    std::string names;
    for (const char* pair : {"ed", "ef", "de"})
      names += (names.empty() ? "" : ",") + (folder_ / (part + "." + pair + ".tsv"));
    return fmt::format("data.{}={}", part, names);
  }

  TranslationOptions options(const std::vector<std::string>& settings) const {
    OptionNode root = parse_yaml_options(
        "{model: {preset: tiny, d_model: 32, d_ff: 64, heads: 2, encoder_layers: 1, decoder_layers: 1, "
        "dropout: 0},"
        " tokenizer: {kind: whitespace, vocab_size: 0}, data: {batch_tokens: 400, languages: [en-de, en-fr, "
        "de-en]}, train: {updates: 3, threads: 1, precision: fp32, label_smoothing: 0},"
        " schedule: {learning_rate: 0.01, warmup: 10}, checkpoint: {every_updates: 0},"
        " validation: {every_updates: 0, metrics: [loss]}}",
        "test");
    set_option(root, files("train"));
    set_option(root, files("valid"));
    for (const std::string& setting : settings) set_option(root, setting);
    return translation_options_of(std::move(root), "test");
  }
  std::string train_with(const std::vector<std::string>& settings, const std::string& name = "run") const {
    train(TranslationConfig(options(settings)), {.run = folder_ / name});
    return folder_ / (name + "/model");
  }
  std::string error_of(const std::vector<std::string>& settings) const {
    return error_message([&] { train_with(settings, "refused"); });
  }

  TemporaryFolder folder_;
};

std::string translation(const Translator& translator, const std::string& text, const std::string& target,
                        const std::string& source = "") {
  return translator.translate(std::vector{text}, {.source_language = source, .target_language = target})[0];
}

TEST_F(LanguagesOfAModel, AreChosenForEachCall) {
  for (const char* pair : {"ed", "ef", "de"})
    write("train." + std::string(pair), pair[0], pair[1], 400, static_cast<uint64_t>(pair[1]));
  const std::string model = train_with({"train.updates=500"});
  const Translator translator(model, {.threads = 1});
  EXPECT_EQ(translation(translator, "e3 e7 e1", "de"), "d3 d7 d1");
  EXPECT_EQ(translation(translator, "e3 e7 e1", "fr"), "f3 f7 f1");
  EXPECT_EQ(translation(translator, "d3 d7 d1", "en", "de"), "e3 e7 e1");
  const auto settings = settings_of<TranslationSettings>(load_model_config(model));
  EXPECT_EQ(settings.directions, (std::vector<std::string>{"de-en", "en-de", "en-fr"}));
  const auto error = [&](const std::string& target, const std::string& source, const std::string& text = "e1") {
    return error_message([&] { translation(translator, text, target, source); });
  };
  const std::string no_token =
      "line 1: the target language is not given, and the line does not begin with the token of one, such as "
      ">>en<<; "
      "the model translates de-en, en-de, en-fr";
  EXPECT_EQ(error("", ""), no_token);
  EXPECT_EQ(error("", "", ">>xx<< e1"), no_token);
  const std::vector<std::string> scored{">>de<< e1", "e1"};
  EXPECT_EQ(error_message([&] { translator.score(scored, scored, {}); }), "line 2" + no_token.substr(6));
  EXPECT_EQ(
      error("", "en"),
      "the source language is given, and the target language is not; the model translates de-en, en-de, en-fr");
  EXPECT_EQ(error("es", ""), "the model does not translate into es; it translates de-en, en-de, en-fr");
  EXPECT_EQ(error("fr", "de"), "the model does not translate de into fr; it translates de-en, en-de, en-fr");
  for (const char* line : {">>fr<< e3 e7 e1", ">>fr<<e3 e7 e1", " >>fr<<\te3 e7 e1"})
    EXPECT_EQ(translation(translator, line, ""), "f3 f7 f1") << line;
  for (const char* line : {">>fr<<", ">>fr<< ", "", "  "})
    EXPECT_EQ(translation(translator, line, ""), "") << line;
  TranslateOptions kept;
  kept.keep_symbols = true;
  EXPECT_EQ(translator.translate(std::vector<std::string>{">>fr<< ...", ">>fr<< e3"}, kept),
            (std::vector<std::string>{"...", "f3"}));
  TranslateOptions small;
  small.capitals = true;  // the token is not a part of the text
  EXPECT_EQ(translator.translate(std::vector<std::string>{">>fr<< E3 E7 E1"}, small)[0],
            in_capitals(translation(translator, ">>fr<< E3 e7 e1", "")));
  TranslateOptions split;
  split.split_sentences = "en";
  EXPECT_NE(error_message([&] {
              translator.translate(std::vector<std::string>{">>fr<< e1"}, split);
            }).find("the target language must be given where lines are split"),
            std::string::npos);
  // The token is none of the tokens of the text.
  TranslateOptions shortened;
  shortened.target_language = "fr";
  shortened.max_source_length = 1;
  EXPECT_EQ(translator.translate(std::vector<std::string>{"e3 e7 e1"}, shortened)[0], "f3");
  const auto refusal = [&](const std::string& other) {
    return error_message([&] { Translator(model, {.threads = 1, .ensemble = {other}}); });
  };
  const std::string pair =
      train_with({"data.languages=en-de", "data.valid=", "tokenizer.source=" + model + "/tokenizer.vocab",
                  files("train").substr(0, files("train").find(','))},
                 "pair");
  EXPECT_NE(refusal(pair).find("they are for other pairs of languages"), std::string::npos);
}

TEST_F(LanguagesOfAModel, AreTokensBeforeSourcesAlone) {
  const TranslationConfig config(options({"tokenizer.kind=sentencepiece", "tokenizer.vocab_size=60"}));
  fs::create_directory(folder_ / "run");
  const auto task = config.open({.run = folder_ / "run"});
  fs::create_directory(folder_ / "written");
  task->write(folder_ / "written");
  const Tokenizers tokenizers = load_tokenizers(folder_ / "written");
  std::vector<std::string> first;
  for (const int64_t sample : {0, 119, 120, 179, 180, 209}) {
    BatchBuilder builder;
    task->training_data().add(sample, 0, builder);
    first.push_back(tokenizers.source->token_text(builder.take().source.ids.at(0)));
  }
  EXPECT_EQ(first, (std::vector<std::string>{">>de<<", ">>de<<", ">>fr<<", ">>fr<<", ">>en<<", ">>en<<"}));
  EXPECT_EQ(tokenizers.source->language_tokens(), (std::vector<std::string>{">>de<<", ">>fr<<", ">>en<<"}));
  const LanguageTokens languages(*tokenizers.source);
  EXPECT_TRUE(tokenizers.source->is_language_token(languages.id(">>fr<<")));
  const auto parts = [&](const std::string& source) {
    const auto [token, text] = languages.split(source);
    return std::pair(std::string(token), std::string(text));
  };
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(parts(">>fr<< e1 e2"), Parts(">>fr<<", "e1 e2"));
  EXPECT_EQ(parts(">>fr<<"), Parts(">>fr<<", ""));
  for (const char* other : {">>xx<< e1", "e1 >>fr<<", ">>", ">> <<", "<<fr>> e1", ""})
    EXPECT_EQ(parts(other), Parts("", other));
}

/// Copies in capitals, other segmentations and links leave the token as it is.
TEST_F(LanguagesOfAModel, GoWithOtherFormsOfTheText) {
  std::string links;
  for (const auto& [pair, lines] : {std::pair("ed", 120), {"ef", 60}, {"de", 30}}) {
    std::istringstream text(read_file(folder_ / (std::string("train.") + pair + ".tsv")));
    std::string all;
    for (std::string line; std::getline(text, line); all += "\n") {
      const auto words = 1 + std::ranges::count(line.substr(0, line.find('\t')), ' ');
      for (int64_t i = 0; i < words; ++i) all += fmt::format("{}{}-{}", i ? " " : "", i, i);
    }
    write_file_atomically(folder_ / (std::string("links.") + pair), all);
    links += (links.empty() ? "" : ",") + (folder_ / (std::string("links.") + pair));
  }
  const TranslationConfig config(options({"data.capitals=1", "data.noise=0.5", "data.token_dropout=0.3",
                                          "data.alignments=" + links, "model.dropout=0.1"}));
  fs::create_directory(folder_ / "run");
  const auto task = config.open({.run = folder_ / "run"});
  fs::create_directory(folder_ / "written");
  task->write(folder_ / "written");
  const Tokenizers tokenizers = load_tokenizers(folder_ / "written");
  int64_t linked = 0;
  for (int64_t sample = 0; sample < task->training_data().size(); ++sample) {
    BatchBuilder builder;
    task->training_data().add(sample, 0, builder);
    const Batch batch = builder.take();
    ASSERT_TRUE(tokenizers.source->is_language_token(batch.source.ids.at(0))) << sample;
    // Row 0 of the target reads the start token and predicts the first word, which is that behind the token.
    for (const Batch::Link& link : batch.links) linked += link.target == 0 && link.source == 1;
    for (const Batch::Link& link : batch.links) ASSERT_EQ(link.source, link.target + 1);
  }
  EXPECT_GT(linked, 200);
  train_with({"data.capitals=1", "data.noise=0.5", "data.token_dropout=0.3", "data.alignments=" + links},
             "other");
}

TEST_F(LanguagesOfAModel, SmallTextsAreUsedMoreOften) {
  const auto factors = [&](const std::vector<std::string>& settings) {
    fs::remove_all(folder_ / "run");
    fs::create_directory(folder_ / "run");
    std::vector<double> weights;
    for (const EpochOrder::Part& part :
         TranslationConfig(options(settings)).open({.run = folder_ / "run"})->training_data().parts())
      weights.push_back(part.weight);
    return weights;
  };
  EXPECT_EQ(factors({}), (std::vector<double>{1, 1, 1}));
  const std::vector<double> square = factors({"data.temperature=2"});
  ASSERT_EQ(square.size(), 3u);
  EXPECT_NEAR(square[0], 1, 1e-9);
  EXPECT_NEAR(square[1], std::sqrt(2), 1e-9);
  EXPECT_NEAR(square[2], 2, 1e-9);
  EXPECT_NE(error_of({"data.temperature=2", "data.weights=1,1,1"}).find("leave one of them out"),
            std::string::npos);
}

TEST_F(LanguagesOfAModel, OfTextsMustBeSaid) {
  EXPECT_NE(error_of({"data.languages=en-de,en-fr"}).find("data.languages has 2 pairs, but data."),
            std::string::npos);
  EXPECT_NE(error_of({"data.languages=en-de,en-fr,english"}).find("'english' does not name two languages"),
            std::string::npos);
  EXPECT_NE(error_of({"data.source_language=en"}).find("leave out data.source_language"), std::string::npos);
  EXPECT_NE(
      error_of({"tokenizer.kind=characters"}).find("data.languages: a tokenizer of characters has no tokens"),
      std::string::npos);
  const std::string model = train_with({});
  const std::string one = files("train").substr(0, files("train").find(','));
  EXPECT_NE(error_of({"start.model=" + model, "data.languages=[]", one, "data.valid="})
                .find("translates de-en, en-de, en-fr; say which languages each text"),
            std::string::npos)
      << error_of({"start.model=" + model, "data.languages=[]", one, "data.valid="});
  EXPECT_NE(error_of({"start.model=" + model, "data.languages=en-es", one, "data.valid="})
                .find("the tokenizer has no token >>es<<, only >>de<<, >>fr<<, >>en<<"),
            std::string::npos)
      << error_of({"start.model=" + model, "data.languages=en-es", one, "data.valid="});
  // One of its pairs alone can be trained on.
  const std::string next =
      train_with({"start.model=" + model, "data.languages=en-de", one, "data.valid="}, "next");
  EXPECT_EQ(settings_of<TranslationSettings>(load_model_config(next)).directions,
            std::vector<std::string>{"en-de"});
}

/// The token does not count where texts are dropped, and a text that is nothing else is none.
TEST_F(LanguagesOfAModel, TokensAreNoText) {
  write_file_atomically(folder_ / "train.de.tsv",
                        ">>en<< d1 d2\te1 e2\nd1\te1\n\xE2\x80\x8B\te1\nd3 d4 d5\te3 e4 e5\n");
  fs::create_directory(folder_ / "run");
  const auto task = TranslationConfig(options({"tokenizer.kind=sentencepiece", "tokenizer.vocab_size=50",
                                               "data.max_ratio=1"}))
                        .open({.run = folder_ / "run"});
  EXPECT_EQ(task->training_data().parts().at(2).samples, 3);
  EXPECT_NE(error_of({"data.train=" + (folder_ / "train.ed.tsv") + "," + (folder_ / "empty.tsv"),
                      "data.languages=en-de,en-fr", "data.valid="}),
            "");
}

TEST_F(LanguagesOfAModel, ADirectionWithoutPairsIsNone) {
  write_file_atomically(folder_ / "train.de.tsv", " \te1\n");
  EXPECT_NE(error_of({}).find("data.languages: no pair of de-en is left in data.train"), std::string::npos);
}

/// Each text is looked at with its own languages, and all of them together.
TEST_F(LanguagesOfAModel, ChecksKnowTheTexts) {
  fs::copy_file(folder_ / "train.ed.tsv", folder_ / "valid.ed.tsv", fs::copy_options::overwrite_existing);
  fs::copy_file(folder_ / "train.ef.tsv", folder_ / "again.tsv");
  const TranslationConfig config(options({}));
  std::vector<std::string> found;
  for (const Finding& finding : config.check({.folder = folder_ / "run"})) found.push_back(finding.id);
  EXPECT_GT(std::ranges::count(found, "overlap"), 0);
}

/// Texts of several scripts are no text of mixed scripts.
TEST_F(LanguagesOfAModel, ChecksKnowTheScripts) {
  const auto write = [&](const std::string& name, const char* target) {
    std::string lines;
    for (int i = 0; i < 200; ++i)
      lines += "a dog number " + std::to_string(i) + " runs\t" + target + std::to_string(i) + "\n";
    write_file_atomically(folder_ / name, lines);
  };
  write("a.tsv", "ein Hund rennt Nummer "), write("b.tsv", "собака бежит номер ");
  const std::string texts = (folder_ / "a.tsv") + "," + (folder_ / "b.tsv");
  const TranslationConfig config(options(
      {"data.train=" + texts, "data.valid=" + texts, "data.test=" + texts, "data.languages=en-de,en-ru"}));
  for (const Finding& finding : config.check({.folder = folder_ / "run"})) {
    EXPECT_NE(finding.id, "scripts") << finding.text;
    EXPECT_NE(finding.id, "length-ratio") << finding.text;
  }
}

/// Sentences that are translated at validation are of all texts.
TEST_F(LanguagesOfAModel, ValidationIsOfAllTexts) {
  train_with({"validation.every_updates=3", "validation.metrics=loss,bleu", "validation.max_sentences=4"});
  std::set<std::string> tokens;
  std::istringstream log(read_file(folder_ / "run/train.jsonl"));
  for (std::string line; std::getline(log, line);)
    for (const char* token : {">>de<<", ">>fr<<", ">>en<<"})
      if (line.find(token) != line.npos) tokens.insert(token);
  EXPECT_EQ(tokens.size(), 3u);
}

TEST_F(LanguagesOfAModel, RunsGoOn) {
  const std::vector<std::string> settings{"train.updates=6", "checkpoint.every_updates=3", "data.temperature=3",
                                          "validation.every_updates=3"};
  train_with(settings);
  const std::string whole = read_file(folder_ / "run/model/model.safetensors");
  for (const char* later : {"run/checkpoints/update-000000006", "run/model", "run/best"})
    fs::remove_all(folder_ / later);
  train(TranslationConfig(options(settings)), {.run = folder_ / "run", .resume = true});
  EXPECT_TRUE(read_file(folder_ / "run/model/model.safetensors") == whole);
}

}  // namespace
}  // namespace sixfold
