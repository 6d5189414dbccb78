// Weights of pairs, R-Drop and layer drop, alone and with what else changes the training of a translation
// model.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/join.h"
#include "error_message.h"
#include "parallel_text.h"
#include "tasks/translation/task.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "text/words.h"
#include "train/distributed/threads.h"
#include "train/forecast.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class TrainingOptionsTest : public testing::Test {
 protected:
  TrainingOptionsTest() {
    write_parallel_text(folder_ / "train.a", folder_ / "train.b", 60, 1);
    write_parallel_text(folder_ / "valid.a", folder_ / "valid.b", 10, 2);
  }

  using Settings = std::vector<std::string>;

  TranslationOptions options(const Settings& settings) const {
    OptionNode root = parse_yaml_options(
        "{model: {preset: tiny, d_model: 16, d_ff: 16, heads: 2, encoder_layers: 2, decoder_layers: 2, "
        "dropout: 0.1},"
        " tokenizer: {kind: whitespace, vocab_size: 0}, data: {batch_tokens: 120, micro_batch_tokens: 0},"
        " train: {updates: 4, threads: 1, precision: fp32}, schedule: {learning_rate: 0.01, warmup: 1},"
        " checkpoint: {every_updates: 2, keep_last: 9, keep_best: false}, log: {every_updates: 1},"
        " validation: {every_updates: 2, metrics: [loss]}}",
        "test");
    set_option(root, "data.train=" + (folder_ / "train.a") + "," + (folder_ / "train.b"));
    set_option(root, "data.valid=" + (folder_ / "valid.a") + "," + (folder_ / "valid.b"));
    for (const std::string& setting : settings) set_option(root, setting);
    return translation_options_of(std::move(root), "test");
  }
  std::string weights(const std::string& name, const std::function<double(int)>& weight, int lines = 60) const {
    std::string text;
    for (int i = 0; i < lines; ++i) text += fmt::format("{}\n", weight(i));
    write_file_atomically(folder_ / name, text);
    return "data.pair_weights=" + (folder_ / name);
  }
  /// Links each word to that at the same place, where there is one.
  std::string alignments(int lines = 60) const {
    const auto words = [&](const char* name) {
      std::istringstream text(read_file(folder_ / name));
      std::vector<size_t> counts;
      for (std::string line; std::getline(text, line);) counts.push_back(count_words(line));
      return counts;
    };
    const std::vector<size_t> sources = words("train.a"), targets = words("train.b");
    std::string text;
    for (size_t i = 0; i < static_cast<size_t>(lines); ++i, text += "\n")
      for (size_t w = 0; i < sources.size() && w < std::min(sources[i], targets[i]); ++w)
        text += fmt::format("{}{}-{}", w ? " " : "", w, w);
    write_file_atomically(folder_ / "alignments", text);
    return "data.alignments=" + (folder_ / "alignments");
  }
  /// Returns the model of a new run.
  std::string train_with(const Settings& settings) const {
    fs::remove_all(folder_ / "run");
    train(TranslationConfig(options(settings)), {.run = folder_ / "run"});
    return model();
  }
  std::string model() const { return read_file(folder_ / "run/model/model.safetensors"); }

  TemporaryFolder folder_;
};

TEST_F(TrainingOptionsTest, OnlyTheRatiosOfWeightsMatter) {
  const std::string plain = train_with({});
  EXPECT_TRUE(train_with({weights("w", [](int) { return 2; })}) == plain);
  EXPECT_TRUE(train_with({weights("w", [](int) { return 0.3; })}) == plain);
  const auto some = [](int i) { return i % 3 + 1; };
  const std::string weighted = train_with({weights("w", some)});
  EXPECT_FALSE(weighted == plain);
  EXPECT_TRUE(train_with({weights("w", [&](int i) { return 4 * some(i); })}) == weighted);
}

TEST_F(TrainingOptionsTest, AWeightOfZeroLeavesAPairOut) {
  const std::string some = train_with({weights("w", [](int i) { return i < 40 ? 0.5 : 0; })});
  write_parallel_text(folder_ / "train.a", folder_ / "train.b", 40, 1);
  EXPECT_TRUE(train_with({}) == some);
}

/// A pair of weight 3 counts as three pairs of weight 1 that are in the same batch.
TEST_F(TrainingOptionsTest, AWeightCountsAsSoManyPairs) {
  const Settings plain{"tokenizer.kind=bytes",      "model.dropout=0",    "data.batch_tokens=100000",
                       "train.updates=1",           "optimizer.kind=sgd", "schedule.learning_rate=1",
                       "validation.every_updates=0"};
  const auto loss_and_weights = [&](Settings settings) {
    settings.insert(settings.end(), plain.begin(), plain.end());
    train_with(settings);
    std::istringstream log(read_file(folder_ / "run/train.jsonl"));
    double loss = 0, norm = 0;
    for (std::string line; std::getline(log, line);)
      if (const auto entry = nlohmann::json::parse(line); entry.contains("gradient_norm"))
        loss = entry["loss"], norm = entry["gradient_norm"];
    return std::pair(loss, norm);
  };
  write_file_atomically(folder_ / "train.a", "w1 w2 w3\nw4\n");
  write_file_atomically(folder_ / "train.b", "w3\nw4 w4 w1\n");
  const auto weighted = loss_and_weights({weights(
      "w", [](int i) { return i == 0 ? 3 : 1; }, 2)});
  write_file_atomically(folder_ / "train.a", "w1 w2 w3\nw1 w2 w3\nw1 w2 w3\nw4\n");
  write_file_atomically(folder_ / "train.b", "w3\nw3\nw3\nw4 w4 w1\n");
  const auto repeated = loss_and_weights({});
  EXPECT_NEAR(weighted.first, repeated.first, 1e-5);
  EXPECT_NEAR(weighted.second, repeated.second, 1e-5 * repeated.second);
  EXPECT_GT(repeated.first, 0.5);
}

/// Cross-attention follows links that text alone does not teach.
TEST_F(TrainingOptionsTest, AttentionFollowsAlignments) {
  const auto followed = [&](const Settings& settings) {
    train_with(settings);
    const Translator translator(folder_ / "run/model", {.threads = 1});
    std::istringstream sources(read_file(folder_ / "train.a")), targets(read_file(folder_ / "train.b"));
    TranslateOptions how;
    how.details.alignment = true;
    how.details.layer = 0;  // the last but one of two
    int64_t right = 0, all = 0;
    for (std::string source, target; std::getline(sources, source) && std::getline(targets, target);) {
      const std::vector<std::string> sides[] = {{source}, {target}};
      const std::vector<Translation> scored = translator.score(sides[0], sides[1], how);
      for (const auto& [s, t] : scored.front().alignment) right += s == t ? 1 : 0, ++all;
    }
    return static_cast<double>(right) / static_cast<double>(all);
  };
  const Settings some{"train.updates=150", "validation.every_updates=0", "checkpoint.every_updates=150",
                      "train.alignment_weight=1"};
  Settings guided = some;
  guided.push_back(alignments());
  EXPECT_GT(followed(guided), 0.8);
  EXPECT_LT(followed(some), 0.6);
}

/// U+00B4 becomes a space in the tokens: the links of such a pair would lead to other words.
TEST_F(TrainingOptionsTest, LinksBesideSpacesThatATokenizerMakesGuideNothing) {
  const Settings some{"tokenizer.kind=sentencepiece", "tokenizer.vocab_size=40", "train.alignment_weight=5"};
  std::string text = read_file(folder_ / "train.a");
  for (size_t i = 0; (i = text.find("w1", i)) != std::string::npos; i += 4) text.replace(i, 2, "w\u00B4w1");
  write_file_atomically(folder_ / "train.a", text);
  const std::string plain = train_with(some);
  Settings guided = some;
  guided.push_back(alignments());
  const std::string with_links = train_with(guided);
  EXPECT_FALSE(with_links == plain) << "lines without that word are guided";
  for (size_t i = 0; (i = text.find('\n', i)) != std::string::npos; i += 5) text.replace(i, 1, " w\u00B4\n");
  write_file_atomically(folder_ / "train.a", text);
  const std::string none = train_with(some);
  guided.back() = alignments();
  EXPECT_TRUE(train_with(guided) == none);
}

/// A run that one process begins and two go on with ends as a whole one of one process.
TEST_F(TrainingOptionsTest, GoWithEachOtherAndWithTheRest) {
  const std::string weighted = weights("w", [](int i) { return i % 4 * 0.7; });
  const Settings all_of_ours{weighted, alignments(), "train.layer_drop=0.4", "train.r_drop=2"};
  const Settings others[] = {
      {},
      {"data.capitals=0.5", "data.noise=0.5", "data.token_dropout=0.1"},
      {"data.micro_batch_tokens=40", "train.accumulate=2"},
      {"data.weights=2", "data.repeats=drop"},
      {"tokenizer.kind=sentencepiece", "tokenizer.vocab_size=40", "data.subword_sampling=0.2"},
      {"model.norm=batch", "train.ema_decay=0.9", "train.clip_norm=0.5"},
      {"model.preprocess=norm", "model.postprocess=dropout,add", "model.postprocess_top=add,norm"}};
  const auto check = [&](Settings all, const Settings& more) {
    all.insert(all.end(), more.begin(), more.end());
    all.emplace_back("train.shards=2");
    SCOPED_TRACE(join(all, " "));
    const std::string whole = train_with(all);
    const std::string run = folder_ / "run";
    fs::remove_all(run + "/model");
    fs::remove_all(run + "/checkpoints/update-000000004");
    on_processes(2, [&](Processes& processes) {
      train(TranslationConfig(options(all)), {.run = run, .resume = true, .processes = &processes});
    });
    EXPECT_TRUE(model() == whole);
  };
  for (const std::string& own : all_of_ours) check({own}, {});
  for (const Settings& other : others) check(other, all_of_ours);
}

/// Other weights are another text.
TEST_F(TrainingOptionsTest, WeightsThatChangeAreNoticed) {
  const auto resume = [&](const Settings& settings) {
    return error_message(
        [&] { train(TranslationConfig(options(settings)), {.run = folder_ / "run", .resume = true}); });
  };
  const std::string key = weights("w", [](int i) { return i + 1; });
  train_with({key});
  const std::string whole = model();
  EXPECT_NE(resume({}).find("data.pair_weights (it was"), std::string::npos);
  weights("w", [](int i) { return i + 2; });
  fs::remove_all(folder_ / "run/encoded-text");
  EXPECT_NE(resume({key, "train.updates=6"}).find("is not the text that the run began with"),
            std::string::npos);
  weights("w", [](int i) { return i + 1; });
  const TranslationConfig again(options({key, "train.updates=6"}));
  EXPECT_FALSE(train(again, {.run = folder_ / "run", .resume = true}).model.empty());
}

TEST_F(TrainingOptionsTest, WhatCanNotHaveWeightsIsRefusedByName) {
  const std::string key = weights("w", [](int) { return 1; });
  const auto refusal = [&](const Settings& settings) {
    fs::remove_all(folder_ / "run");
    return error_message([&] { train(TranslationConfig(options(settings)), {.run = folder_ / "run"}); });
  };
  EXPECT_EQ(refusal({key + "," + (folder_ / "w")}),
            "data.pair_weights has 2 files, but data.train 1 text; give one file of weights for each text");
  EXPECT_NE(
      refusal({key, "data.train=" + (folder_ / "m.tmx"), "data.source_language=en", "data.target_language=de"})
          .find("data.pair_weights: " + (folder_ / "m.tmx") + " is a translation memory"),
      std::string::npos);
  weights("w", [](int) { return 0; });
  EXPECT_EQ(refusal({key}), "data.pair_weights: no pair is left (60 pairs, 0 kept; dropped: 60 of weight 0)");
  weights(
      "w", [](int) { return 1; }, 61);
  EXPECT_NE(refusal({key}).find("w:61: "), std::string::npos);
  const TranslationConfig config(options({key}));
  EXPECT_NE(error_message([&] { config.check({}); }).find("w:61: "), std::string::npos);
  for (const char* wrong : {"train.r_drop=-1", "train.layer_drop=1", "train.layer_drop=-0.1"})
    EXPECT_NE(error_message([&] { options({wrong}); }).find(std::string(wrong).substr(0, 10)),
              std::string::npos);
}

/// Both passes of R-Drop are in memory at a time.
TEST_F(TrainingOptionsTest, TheForecastCountsBothPasses) {
  const auto activations = [&](const Settings& settings) {
    const TranslationOptions o = options(settings);
    fs::create_directories(folder_ / "run");
    const auto task = TranslationConfig(o).open({.run = folder_ / "run"});
    return static_cast<double>(forecast_memory(*task, TranslationConfig(o).training(), 0).activations);
  };
  const double one = activations({}), two = activations({"train.r_drop=1"});
  EXPECT_GT(two, 1.6 * one);
  EXPECT_LT(two, 2.1 * one);
  EXPECT_EQ(activations({"train.layer_drop=0.5"}), one) << "an update may have all layers";
}

/// A sample that is far longer than the others is forecast in memory, and is no measure of what a token costs.
TEST_F(TrainingOptionsTest, OneLongSampleDoesNotChangeWhatATokenCosts) {
  const auto forecast = [&](const std::string& run) {
    const TranslationOptions o =
        options({"model.encoder_layers=1", "model.decoder_layers=6", "data.batch_tokens=40"});
    fs::create_directories(folder_ / run);
    const auto task = TranslationConfig(o).open({.run = folder_ / run});
    return forecast_memory(*task, TranslationConfig(o).training(), 0);
  };
  write_parallel_text(folder_ / "train.a", folder_ / "train.b", 600, 1);
  const MemoryForecast usual = forecast("usual");
  const std::string source = read_file(folder_ / "train.a"), target = read_file(folder_ / "train.b");
  std::string line;
  for (int i = 0; i < 200; ++i) line += source.substr(0, source.find(' ')) + " ";
  write_file_atomically(folder_ / "train.a", source + line + "\n");
  write_file_atomically(folder_ / "train.b", target + target.substr(0, target.find(' ')) + "\n");
  const MemoryForecast with_long = forecast("long");
  EXPECT_GT(with_long.activations, 2 * usual.activations);
  EXPECT_NEAR(with_long.operations_per_token / usual.operations_per_token, 1, 0.05);
}

}  // namespace
}  // namespace sixfold
