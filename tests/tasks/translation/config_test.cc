#include "tasks/translation/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "error_message.h"
#include "tasks/tasks.h"
#include "tasks/translation/task.h"
#include "temporary_folder.h"
#include "train/resume.h"

namespace sixfold {
namespace {

const std::string example = R"(# English to German
model:
  preset: small
  dropout: 0.2
  tied_embeddings: decoder
generation: {beam_size: 6, length_penalty: 1.0}
tokenizer:
  joint: false
  vocab_size: 6000
data:
  train: [train.en, train.de, more.tsv.gz]
  valid: [valid.en, valid.de]
  invalid_utf8: skip
train:
  epochs: 12.5
  minutes: 30
  average_last: 2
schedule:
  kind: cosine
  learning_rate: 1e-3
  warmup: 500
validation:
  metrics: [loss, bleu]
  best_by: bleu
)";

class TranslationConfigTest : public testing::Test {
 protected:
  TranslationOptions read(const std::string& yaml, const std::vector<std::string>& assignments = {}) {
    std::ofstream(path_) << yaml;
    return read_translation_options(path_, assignments);
  }

  /// The message with which it is refused, without the folder's name.
  std::string refusal(const std::string& yaml, const std::vector<std::string>& assignments = {}) {
    std::string message = error_message([&] { read(yaml, assignments); });
    if (message.rfind(path_, 0) == 0) message.replace(0, path_.size(), "CONFIG.yaml");
    return message;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "CONFIG.yaml";
};

TEST_F(TranslationConfigTest, ReadsTheExample) {
  const TranslationOptions o = read(example);
  EXPECT_EQ(o.model.preset(), Preset::small);
  EXPECT_EQ(o.model.d_model, 256);  // of the preset
  EXPECT_EQ(o.model.dropout, 0.2f);
  EXPECT_EQ(o.model.tied_embeddings, TiedEmbeddings::decoder);
  EXPECT_EQ(o.generation.beam_size, 6);
  EXPECT_EQ(o.generation.length_offset, 50);
  EXPECT_EQ(o.tokenizer.vocab_size, 6000);
  EXPECT_EQ(o.data.train, (std::vector<std::string>{"train.en", "train.de", "more.tsv.gz"}));
  EXPECT_EQ(o.data.invalid_utf8, InvalidUtf8::skip);
  EXPECT_EQ(o.data.batch_tokens, 8192);
  EXPECT_EQ(o.train.epochs, 12.5);
  EXPECT_EQ(o.train.label_smoothing, 0.1f);
  EXPECT_EQ(o.optimizer.epsilon, 1e-9);
  EXPECT_EQ(o.schedule.kind, ScheduleKind::cosine);
  EXPECT_EQ(o.schedule.learning_rate, 1e-3);
  EXPECT_EQ(o.validation.metrics.chosen, (std::vector<std::string>{"loss", "bleu"}));
}

TEST_F(TranslationConfigTest, AModelOfAPresetHasItsSizes) {
  TranslationOptions options;
  options.model = ModelOptions(Preset::tiny);
  EXPECT_EQ(options.model.preset(), Preset::tiny);
  EXPECT_EQ(options.model.d_model, 128);
  EXPECT_EQ(options.model.encoder_layers, 4);
}

/// What version 0.1.0 stored of a run.
TEST_F(TranslationConfigTest, OptionsOfVersion010AreRead) {
  std::ofstream(path_) << R"({"model": {"preset": "tiny", "top_steps": ["norm"], "embedding_steps": ["norm"],
    "search": {"alpha": 0.5, "normalization": "google", "end": "beam_finished", "banned_symbols": [3],
               "decoder_start": 4}},
    "data": {"train": ["a", "b"]}, "train": {"updates": 1}})";
  const TranslationOptions o = read_translation_options(path_);
  EXPECT_EQ(o.model.postprocess_top, std::vector{ProcessStep::norm});
  EXPECT_EQ(o.model.postprocess_embedding, std::vector{ProcessStep::norm});
  EXPECT_EQ(o.model.decoder_start_token, 4);
  EXPECT_EQ(o.generation.length_penalty, 0.5f);
  EXPECT_EQ(o.generation.normalization, ScoreNormalization::gnmt);
  EXPECT_EQ(o.generation.stopping_criterion, StoppingCriterion::beam_finished);
  EXPECT_EQ(o.generation.suppress_tokens, std::vector{3});
}

/// Old names of a config and of --set are understood, and not mixed with today's.
TEST_F(TranslationConfigTest, NamesOfVersion010AreNotMixedWithTodays) {
  const TranslationOptions o = read("data: {train: a.tsv}\ntrain: {updates: 1}\nmodel: {top_steps: [norm]}\n",
                                    {"model.search.alpha=0.5"});
  EXPECT_EQ(o.generation.length_penalty, 0.5f);
  EXPECT_EQ(o.model.postprocess_top, std::vector{ProcessStep::norm});
  EXPECT_NE(
      refusal(example, {"model.search.alpha=0.5"}).find("'generation' is mixed with names of version 0.1.0"),
      std::string::npos);
}

TEST_F(TranslationConfigTest, AnyKeyCanBeSet) {
  const TranslationOptions o =
      read(example, {"train.minutes=5", "data.train=a.en,a.de", "model.preset=tiny",
                     "generation.length_penalty=0.5", "validation.metrics=bleu,chrf,perplexity"});
  EXPECT_EQ(o.train.minutes, 5);
  EXPECT_EQ(o.data.train, (std::vector<std::string>{"a.en", "a.de"}));
  EXPECT_EQ(o.model.d_model, 128);
  EXPECT_EQ(o.model.dropout, 0.2f);  // what the file says of single keys holds against the preset
  EXPECT_EQ(o.generation.length_penalty, 0.5f);
  EXPECT_EQ(o.validation.metrics.chosen.size(), 3u);
}

TEST_F(TranslationConfigTest, ErrorsPointToTheirPlace) {
  EXPECT_EQ(
      refusal("model:\n  preset: smal\n"),
      "CONFIG.yaml:2: model.preset: expected one of tiny, small, base, big (perhaps small), found 'smal'");
  EXPECT_EQ(refusal("data:\n  trian: [a]\n"),
            "CONFIG.yaml:2: unknown key 'data.trian' (did you mean 'train'?)");
  EXPECT_EQ(refusal("trian:\n  minutes: 5\n"), "CONFIG.yaml:1: unknown key 'trian' (did you mean 'train'?)");
  EXPECT_EQ(refusal(example, {"train.minuts=5"}),
            "--set train.minuts=5: unknown key 'train.minuts' (did you mean 'minutes'?)");
  EXPECT_EQ(refusal(example, {"optimizer.beta1=1"}),
            "--set optimizer.beta1=1: optimizer.beta1: expected a number from 0 to below 1, found '1'");
  EXPECT_EQ(error_message([&] { read_translation_options(folder_ / "missing.yaml"); }),
            (folder_ / "missing.yaml") + ": can't open: No such file or directory");
}

TEST_F(TranslationConfigTest, ContradictionsAreRefused) {
  EXPECT_EQ(refusal("train: {minutes: 5}"),
            "CONFIG.yaml: data.train: there is no training data; give a source and a target file, or a .tsv or "
            ".tmx file");
  EXPECT_EQ(refusal("data: {train: a.tsv}"),
            "CONFIG.yaml: train: no limit ends the training; set train.updates, train.epochs or train.minutes");
  EXPECT_EQ(
      refusal(example, {"model.tied_embeddings=all"}),
      "CONFIG.yaml: model.tied_embeddings: 'all' needs a joint vocabulary; choose 'decoder' or 'none', or set "
      "tokenizer.joint");
  EXPECT_EQ(refusal(example, {"data.subword_sampling=0.1", "tokenizer.kind=characters"}),
            "CONFIG.yaml: data.subword_sampling: only tokenizers of the kind sentencepiece have several "
            "segmentations of a word; set it to 0");
  EXPECT_EQ(refusal(example, {"train.average_last=4"}),
            "CONFIG.yaml: train.average_last: averaging 4 checkpoints needs checkpoint.keep_last of at least "
            "that many, not 2");
  EXPECT_EQ(refusal(example, {"validation.patience=3", "data.valid="}),
            "CONFIG.yaml: validation.patience: there is no validation data; give it in data.valid");
  EXPECT_EQ(read(example, {"validation.metrics=[ter]", "validation.best_by=loss"}).validation.best_by.name,
            "loss")
      << "it is computed, too";
  EXPECT_EQ(refusal(example, {"validation.best_by=chrf"}),
            "CONFIG.yaml: validation.best_by: 'chrf' is not among validation.metrics");
  EXPECT_EQ(refusal(example, {"model.decoder_layers=0"}),
            "CONFIG.yaml: model: translation needs an encoder and a decoder, but decoder_layers is 0");
  EXPECT_EQ(
      refusal(example, {"model.heads=3"}),
      "CONFIG.yaml: d_model 256 is not divisible by 3 heads; choose another number of heads, or set d_k and "
      "d_v");
}

TEST_F(TranslationConfigTest, TheResolvedOptionsAreSavedAndLoaded) {
  TranslationOptions options = read(example, {"train.seed=18446744073709551615"});
  const std::string path = folder_ / "options.json";
  write_file_atomically(path, to_json(run_options(TranslationConfig(options))));
  const TranslationOptions loaded = read_translation_options(path);
  // Paths are saved so that they hold from any working directory.
  for (auto* names : {&options.data.train, &options.data.valid})
    for (std::string& name : *names) name = std::filesystem::current_path() / name;
  EXPECT_EQ(to_json(write_options(loaded)), to_json(write_options(options)));
  EXPECT_EQ(loaded.train.seed, 18446744073709551615u);
  EXPECT_EQ(loaded.model.dropout, 0.2f);
  EXPECT_EQ(loaded.data.train, options.data.train);
  EXPECT_EQ(read_translation_options(path, {"train.minutes=60"}).train.minutes, 60);
}

/// What any JSON writer makes, which is not always YAML.
TEST_F(TranslationConfigTest, JsonIsReadAsJson) {
  const std::string path = folder_ / "options.json";
  write_file_atomically(path,
                        "{\"data\"\n: {\"train\": [\"a\\ud83d\\ude00.tsv\"]}, \"train\": {\"updates\": 3}}");
  EXPECT_EQ(read_translation_options(path).data.train.at(0), "a\xF0\x9F\x98\x80.tsv");
}

TEST_F(TranslationConfigTest, TheListingOfAllKeysCanBeRead) {
  const std::string listing = to_documented_yaml(builtin_tasks().front().default_options());
  const TranslationOptions read_back = read(listing, {"data.train=a.tsv", "train.updates=1"});
  TranslationOptions expected;
  expected.data.train = {"a.tsv"};
  expected.train.updates = 1;
  EXPECT_EQ(to_json(write_options(read_back)), to_json(write_options(expected))) << listing;
}

/// Settings that have no effect are said, and so is a run that ends in its warm-up.
TEST_F(TranslationConfigTest, WhatHasNoEffectIsSaid) {
  const auto advice = [&](const std::vector<std::string>& assignments, int64_t last_update = 1000) {
    std::string all;
    const TranslationOptions options = read(example, assignments);
    for (const std::string& line : advice_for(training_of(options), last_update)) all += line + "\n";
    for (const std::string& line : advice_for(options)) all += line + "\n";
    return all;
  };
  EXPECT_EQ(advice({}), "");
  EXPECT_EQ(advice({}, 0), "");
  EXPECT_NE(advice({}, 400).find("ends at update 400, within the 500 updates"), std::string::npos)
      << advice({}, 400);
  EXPECT_NE(advice({"schedule.kind=noam"}).find("schedule.learning_rate has no effect"), std::string::npos);
  const std::string short_noam = advice({"schedule.kind=noam", "schedule.warmup=0"});
  EXPECT_NE(short_noam.find("within the 4000 updates"), std::string::npos) << short_noam;
  EXPECT_NE(
      advice({"data.shortlist=true", "data.valid="}).find("data.shortlist has no effect without data.valid"),
      std::string::npos);
  EXPECT_NE(advice({"train.alignment_weight=0.5"}).find("has no effect without data.alignments"),
            std::string::npos);
  EXPECT_NE(advice({"teacher.weight=2"}).find("no effect without teacher.model"), std::string::npos);
  EXPECT_NE(advice({"start.lora_alpha=2"}).find("no effect without start.lora_rank"), std::string::npos);
  EXPECT_NE(advice({"schedule.factor=3"}).find("schedule.factor has no effect"), std::string::npos);
  EXPECT_NE(advice({"model.d_ff=99"}).find("model.d_ff is set together with model.preset small"),
            std::string::npos);
  EXPECT_NE(advice({"start.model=m", "model.d_model=64"})
                .find("model.d_model has no effect together with start.model"),
            std::string::npos);
  // Left to us, the warm-up fits any run.
  EXPECT_EQ(advice({"schedule.warmup=0"}, 10), "");
}

/// The loss of an update depends on the layers that it has.
TEST_F(TranslationConfigTest, SpikesAreNotLookedForWhereLayersAreLeftOut) {
  for (const char* reaction : {"train.on_spike=stop", "train.on_spike=rollback"})
    EXPECT_NE(refusal(example, {"train.layer_drop=0.1", reaction}).find("does not go with train.layer_drop"),
              std::string::npos);
  EXPECT_NO_THROW(read(example, {"train.layer_drop=0.1"}));
}

}  // namespace
}  // namespace sixfold
