// Each alternative to the paper's parts learns the demo's language, resumes bit for bit, and translates.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "program/demo/corpus.h"
#include "tasks/translation/task.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

struct Variant {
  const char* name;
  std::vector<std::string> settings;
};

const Variant variants[] = {
    {"paper", {}},
    {"rms_norm", {"model.norm=rms"}},
    {"batch_norm", {"model.norm=batch"}},
    {"glu", {"model.activation=sigmoid", "model.feed_forward_gate=true"}},
    {"geglu_tanh", {"model.activation=tanh_gelu", "model.feed_forward_gate=true"}},
    {"swiglu_without_bias",
     {"model.activation=swish", "model.feed_forward_gate=true", "model.feed_forward_bias=false"}},
    {"rotary", {"model.positions=rotary"}},
    {"alibi", {"model.positions=alibi"}},
    {"t5", {"model.positions=t5", "model.position_buckets=8", "model.position_distance=12"}},
    {"index", {"model.positions=index"}},
    {"relative_index", {"model.positions=relative_index"}},
    {"learned_that_ends",
     {"model.positions=learned", "model.max_positions=40", "model.beyond_positions=error"}},
    {"convolution", {"model.encoder_mixer=convolution", "model.decoder_mixer=convolution"}},
    {"separable", {"model.encoder_mixer=separable", "model.decoder_mixer=separable", "model.kernel_size=5"}},
    {"ssru", {"model.decoder_mixer=ssru"}},
    {"average", {"model.decoder_mixer=average"}},
    {"recurrent", {"model.encoder_mixer=recurrent", "model.decoder_mixer=recurrent"}},
    {"lstm", {"model.encoder_mixer=lstm", "model.decoder_mixer=lstm", "model.positions=none"}},
    {"gru", {"model.encoder_mixer=gru", "model.decoder_mixer=gru"}},
    {"bahdanau", {"model.encoder_mixer=gru", "model.decoder_mixer=bahdanau", "model.heads=1"}},
    {"restricted",
     {"model.encoder_mixer=restricted_attention", "model.decoder_mixer=restricted_attention",
      "model.attention_window=3"}},
    {"multi_query", {"model.kv_heads=1"}},
    {"unscaled", {"model.attention_score=dot"}},
    {"additive", {"model.attention_score=additive"}},
};

class VariantsTraining : public testing::TestWithParam<Variant> {
 protected:
  VariantsTraining() {
    const demo::Corpus corpus = demo::make_corpus({.train = 600, .valid = 40, .test = 1});
    write("train", corpus.train);
    write("valid", corpus.valid);
    write_file_atomically(folder_ / "config.yaml", R"(
model: {d_model: 32, d_ff: 64, heads: 2, encoder_layers: 1, decoder_layers: 1, dropout: 0.1}
tokenizer: {kind: whitespace, vocab_size: 0}
data: {batch_tokens: 1000}
train: {updates: 90, threads: 1, precision: fp32}
schedule: {kind: constant, learning_rate: 5e-3, warmup: 10}
checkpoint: {every_updates: 45}
validation: {every_updates: 30}
)");
  }
  void write(const std::string& name, const std::vector<demo::SentencePair>& pairs) const {
    std::string english, german;
    for (const auto& pair : pairs) english += pair.english + "\n", german += pair.german + "\n";
    write_file_atomically(folder_ / (name + ".en"), english);
    write_file_atomically(folder_ / (name + ".de"), german);
  }
  std::string run(const std::string& name) const { return folder_ / name; }
  TrainOutcome train_run(const std::string& name, bool resume) const {
    std::vector<std::string> settings = GetParam().settings;
    for (const char* part : {"train", "valid"})
      settings.push_back(fmt::format("data.{0}={1}/{0}.en,{1}/{0}.de", part, folder_.path().string()));
    return train(TranslationConfig(read_translation_options(folder_ / "config.yaml", settings)),
                 {.run = run(name), .resume = resume});
  }
  std::vector<double> validation_losses(const std::string& name) const {
    std::vector<double> losses;
    std::istringstream log(read_file(run(name) + "/train.jsonl"));
    for (std::string line; std::getline(log, line);)
      if (const auto json = nlohmann::json::parse(line); json.contains("validation"))
        losses.push_back(json.at("validation").at("loss"));
    return losses;
  }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(, VariantsTraining, testing::ValuesIn(variants),
                         [](const auto& variant) { return variant.param.name; });

TEST_P(VariantsTraining, LearnsResumesAndTranslates) {
  const std::string model = train_run("whole", false).model;
  const std::vector<double> losses = validation_losses("whole");
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_LT(losses[2], losses[0] - 0.5);
  fs::copy(run("whole"), run("part"), fs::copy_options::recursive);
  for (const char* part : {"/model", "/checkpoints/update-000000090"}) fs::remove_all(run("part") + part);
  train_run("part", true);
  EXPECT_TRUE(read_file(run("part") + "/model/model.safetensors") == read_file(model + "/model.safetensors"));
  const std::vector<std::string> lines{"the dog sleeps .", "a child"};
  for (const WeightType type : {WeightType::fp32, WeightType::int8}) {
    const Translator translator(model, {.threads = 2, .weights = type});
    const auto together = translator.translate(lines);
    ASSERT_EQ(together.size(), 2u);
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(together[i], translator.translate(lines[i]));
  }
}

}  // namespace
}  // namespace sixfold
