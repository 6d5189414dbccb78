// Folders of CTranslate2, in and out.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "error_message.h"
#include "families/changed_model.h"
#include "families/families.h"
#include "formats/ctranslate2_file.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "model_folder/require_model_folder.h"
#include "tasks/import_model.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

const std::string ct2_goldens = SIXFOLD_TEST_GOLDENS "/ctranslate2/";

std::string import_ct2(const std::string& folder, const std::string& output,
                       const std::vector<std::string>& tokenizers = {}) {
  import_model({.program = "ctranslate2", .path = folder, .sentence_pieces = tokenizers}, output);
  return output;
}

/// Models that CTranslate2's converter wrote, and CTranslate2's own translations
/// (tests/goldens/make_ctranslate2_goldens.py).
class Ctranslate2Golden : public testing::TestWithParam<const char*> {};

/// Compares the tokens and scores of a line with those of CTranslate2. Returns their number.
int expect_hypotheses(const TranslatedLine& line, const nlohmann::json& golden, double precision) {
  EXPECT_EQ(line.translations.size(), golden["hypotheses"].size());
  const size_t count = std::min(line.translations.size(), golden["hypotheses"].size());
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::string> tokens;
    for (const TranslatedToken& token : line.translations[i].tokens)
      if (token.text != "</s>") tokens.push_back(token.text);
    EXPECT_EQ(tokens, golden["hypotheses"][i].get<std::vector<std::string>>());
    EXPECT_NEAR(line.translations[i].score, golden["scores"][i].get<double>(), precision);
  }
  return static_cast<int>(count);
}

TEST_P(Ctranslate2Golden, TranslatesAsCtranslate2) {
  const TemporaryFolder folder;
  const std::string given = ct2_goldens + GetParam();
  const Translator translator(import_ct2(given, folder / "model"), {.threads = 1});
  GenerationConfig rules = translator.generation();
  rules.length_offset = 12;
  // The table of positions of one model was rounded to bf16; here positions are computed.
  const double precision = std::string(GetParam()) == "tied" ? 1e-4 : 2e-3;
  int compared = 0;
  for (const nlohmann::json& one : nlohmann::json::parse(read_file(given + "/golden.json"))) {
    const int beam_size = one["beam_size"];
    translator.translate(
        {one["line"].get<std::string>()},
        {.beam_size = beam_size, .generation = rules, .n_best = beam_size, .details = {.tokens = true}},
        [&](const TranslatedLine& line) { compared += expect_hypotheses(line, one, precision); });
  }
  EXPECT_EQ(compared, 20);
}

/// Its coverage penalty, and words of the source in place of unknown tokens, where all heads of a layer align.
TEST_P(Ctranslate2Golden, CoversAndReplacesAsCtranslate2) {
  const TemporaryFolder folder;
  const std::string given = ct2_goldens + GetParam(), model = import_ct2(given, folder / "model");
  const Translator translator(model, {.threads = 1});
  const ModelConfig config = load_model_config(model);
  const Tokenizers tokenizers = load_bound_tokenizers(model, config);
  const double precision = std::string(GetParam()) == "tied" ? 1e-3 : 2e-2;  // of sums of 17 logarithms
  int compared = 0, replaced = 0;
  for (const nlohmann::json& one : nlohmann::json::parse(read_file(given + "/search.json"))) {
    const int beam_size = one["beam_size"];
    TranslateOptions options{
        .beam_size = beam_size, .generation = translator.generation(), .details = {.layer = 0}};
    GenerationConfig& rules = *options.generation;
    if (one.contains("replaced")) {
      options.replace_unknown = true;
      rules.length_offset = 8, rules.min_new_tokens = 4, rules.renormalize_logits = true;
      for (int id = 0; id < config.target_vocab; ++id)
        if (const std::string token = tokenizers.target->token_text(id);
            token != "</s>" && token != "<unk>" && token != "\u2581")
          rules.suppress_tokens.push_back(id);
    } else {
      options.n_best = beam_size, options.details.tokens = true;
      rules.length_offset = 12, rules.coverage_penalty = one["coverage_penalty"];
    }
    translator.translate({one["line"].get<std::string>()}, options, [&](const TranslatedLine& line) {
      if (one.contains("replaced")) {
        const std::string piece = one["replaced"][0], text = line.translations[0].text;
        EXPECT_EQ(text.find("<unk>"), text.npos);
        if (piece == "</s>") return;  // which is no word here
        EXPECT_EQ("\u2581" + text.substr(0, text.find(' ')), piece);
        ++replaced;
        return;
      }
      compared += expect_hypotheses(line, one, precision);
    });
  }
  EXPECT_EQ(compared, 40);
  EXPECT_GE(replaced, 2);
}

TEST_P(Ctranslate2Golden, OtherFilesAndSettingsAreRefused) {
  const TemporaryFolder folder;
  const std::string given = ct2_goldens + GetParam();
  fs::copy(given, folder / "ct2");
  const auto refusal = [&] { return error_message([&] { import_ct2(folder / "ct2", folder / "model"); }); };
  write_file_atomically(folder / "ct2/shared_vocabulary.json", "[\"a\", \"b\"]");
  expect_holds(refusal(), "vocabulary has 2 tokens, but the embedding has");
  fs::remove(folder / "ct2/shared_vocabulary.json");
  expect_holds(refusal(), "is not a folder of CTranslate2");
  fs::copy(given + "/shared_vocabulary.json", folder / "ct2/shared_vocabulary.json");
  fs::remove(folder / "ct2/target.spm");
  expect_holds(refusal(),
               "has no tokenizer; give the SentencePiece models of source and target by --tokenizer");
  import_ct2(folder / "ct2", folder / "model", {given + "/source.spm", given + "/target.spm"});
  fs::copy(given + "/target.spm", folder / "ct2/target.spm");
  std::string bytes = read_file(given + "/model.bin");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = bytes;
    other.replace(other.find(from), from.size(), to);
    write_file_atomically(folder / "ct2/model.bin", other);
    return refusal();
  };
  expect_holds(changed("TransformerSpec", "TransformerXpec"), "is a TransformerXpec; only TransformerSpec");
  expect_holds(changed("encoder/pre_norm", "encoder/pre_nxrm"), "variable 'encoder/pre_nxrm' is 0");
  expect_holds(changed("layer_1/ffn/linear_1/bias", "layer_1/ffn/linear_1/bixs"), "no tensor");
  EXPECT_THROW(require_model_folder(folder / "ct2"), NotAModelFolder);
  expect_holds(import_advice(folder / "ct2"),
               "is a model of CTranslate2; convert it with: sixfold import ctranslate2");
}

INSTANTIATE_TEST_SUITE_P(, Ctranslate2Golden, testing::Values("tied", "bfloat16"),
                         [](const auto& test) { return std::string(test.param); });

class Ctranslate2Export : public testing::Test {
 protected:
  /// A random model of our own with the tokenizers of a golden.
  std::string own_model(const std::function<void(ModelConfig&)>& change) const {
    import_ct2(ct2_goldens + "tied", folder_ / "golden");
    ModelConfig config = load_model_config(folder_ / "golden");
    const Tokenizers tokenizers = load_bound_tokenizers(folder_ / "golden", config);
    change(config);
    const Transformer model = changed_model(config, 0.2);
    write_model_folder(folder_ / "own", model, tokenizers);
    return folder_ / "own";
  }
  static std::vector<std::pair<std::string, double>> translations(const std::string& model) {
    GenerationConfig rules = load_model_config(model).generation;
    rules.beam_size = 3, rules.length_factor = 0, rules.length_offset = 9, rules.allow_unk = true;
    rules.normalization = ScoreNormalization::length, rules.length_penalty = 1, rules.min_new_tokens = 1;
    rules.stopping_criterion = StoppingCriterion::beam_finished, rules.at_longest = AtLongest::cut;
    std::vector<std::pair<std::string, double>> found;
    Translator(model, {.threads = 1})
        .translate({"the old dog", "a cat eats", "dog dog"}, {.generation = rules},
                   [&](const TranslatedLine& line) {
                     found.emplace_back(line.translations[0].text, line.translations[0].score);
                   });
    return found;
  }
  void expect_there_and_back(const std::function<void(ModelConfig&)>& change) const {
    const TemporaryFolder out;
    const std::string own = own_model(change);
    export_model(own, "ctranslate2", out / "ct2");
    const auto before = translations(own), after = translations(import_ct2(out / "ct2", out / "back"));
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].first, after[i].first);
      EXPECT_NEAR(before[i].second, after[i].second, 1e-6);
    }
    fs::remove_all(own);
  }

  const TemporaryFolder folder_;
};

/// Words are aligned by the same layer and heads there.
TEST_F(Ctranslate2Export, SaysHowWordsAreAligned) {
  for (const int layer : {0, 1}) {
    const std::string own = own_model([&](ModelConfig& config) {
      config.generation.alignment_layer = layer;
      if (layer == 1) config.decoder_heads = config.heads / 2;
    });
    const TemporaryFolder out;
    export_model(own, "ctranslate2", out / "ct2");
    const Ctranslate2File file = Ctranslate2File::open(out / "ct2/model.bin");
    EXPECT_EQ(file.number("decoder/alignment_layer")->value, layer);
    EXPECT_EQ(file.number("decoder/alignment_heads")->value, load_model_config(own).of_decoder().heads);
    fs::remove_all(own);
  }
}

TEST_F(Ctranslate2Export, ComputesTheSameWhenItComesBack) {
  for (const auto tied :
       {TiedEmbeddings::all, TiedEmbeddings::decoder, TiedEmbeddings::source, TiedEmbeddings::none}) {
    SCOPED_TRACE(name_of_enum(tied));
    expect_there_and_back([&](ModelConfig& config) {
      config.tied_embeddings = tied;
      config.output_bias = tied == TiedEmbeddings::none;
    });
  }
  for (const auto positions :
       {Positions::sinusoidal, Positions::sinusoidal_marian, Positions::learned, Positions::none}) {
    SCOPED_TRACE(name_of_enum(positions));
    expect_there_and_back([&](ModelConfig& config) {
      config.positions = positions;
      config.norm_epsilon = 1e-6f;
      if (positions == Positions::learned)
        config.max_positions = 40, config.beyond_positions = BeyondPositions::last;
    });
  }
  expect_there_and_back([](ModelConfig& config) {
    config.preprocess = {ProcessStep::norm};
    config.postprocess = {ProcessStep::dropout, ProcessStep::add};
    config.postprocess_top = {ProcessStep::norm};
    config.postprocess_embedding = {ProcessStep::norm, ProcessStep::dropout};
    config.embedding_scale = false;
    config.activation = Activation::gelu;
    config.decoder_start_token = 3;
    config.decoder_heads = config.heads / 2;
    config.decoder_d_ff = config.d_ff + 7;
  });
}

TEST_F(Ctranslate2Export, WhatItLacksIsRefused) {
  const auto refusal = [&](const std::function<void(ModelConfig&)>& change) {
    const std::string own = own_model(change);
    const std::string message = error_message([&] { export_model(own, "ctranslate2", folder_ / "ct2"); });
    EXPECT_FALSE(fs::exists(folder_ / "ct2"));
    fs::remove_all(own);
    return message;
  };
  expect_holds(refusal([](ModelConfig& c) { c.positions = Positions::alibi; }), "its positions are 'alibi'");
  expect_holds(refusal([](ModelConfig& c) { c.decoder_mixer = MixerKind::ssru; }), "its decoder_mixer 'ssru'");
  expect_holds(refusal([](ModelConfig& c) { c.norm = Norm::rms; }), "its norm is 'rms'");
  expect_holds(refusal([](ModelConfig& c) { c.kv_heads = 2; }), "its heads have other widths or numbers");
  expect_holds(refusal([](ModelConfig& c) { c.feed_forward_gate = true; }), "a gate or no biases");
}

}  // namespace
}  // namespace sixfold
