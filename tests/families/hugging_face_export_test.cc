// Models that are exported to folders of Hugging Face, and imported again.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "error_message.h"
#include "families/changed_model.h"
#include "families/families.h"
#include "formats/safetensors.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "tasks/import_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;

const std::string golden_models = SIXFOLD_TEST_GOLDENS "/hugging_face/";

/// A model of our own, with norms and biases that are not what they begin with.
void write_own_model(const std::string& folder, const std::function<void(ModelConfig&)>& change) {
  const TemporaryFolder imported;
  import_hugging_face(golden_models + "tied", imported / "model");
  ModelConfig config = load_model_config(imported / "model");
  const Tokenizers tokenizers = load_bound_tokenizers(imported / "model", config);
  config.positions = Positions::sinusoidal;
  change(config);
  const Transformer model = changed_model(config);
  write_model_folder(folder, model, tokenizers);
}

std::vector<float> logits_of(const std::string& folder) {
  const auto model = load_model(folder, make_backend());
  Batch batch;
  batch.source.add(Ids{5, 7, 9, 6, 8, 0});
  batch.target.add(Ids{54, 11, 3, 12, 15});
  Context context(model->backend(), std::make_shared<Arena>(model->backend()));
  return ops::logits(context, model->states(batch, context), model->output()).to_floats(*model->backend());
}

/// Exports a model of our own and imports it again; returns the config that it has then.
ModelConfig there_and_back(const std::function<void(ModelConfig&)>& change) {
  const TemporaryFolder folder;
  write_own_model(folder / "own", change);
  export_hugging_face(folder / "own", folder / "exported");
  import_hugging_face(folder / "exported", folder / "back");
  const auto before = logits_of(folder / "own"), after = logits_of(folder / "back");
  EXPECT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i)
    if (std::abs(before[i] - after[i]) > 1e-4) {
      ADD_FAILURE() << "logit " << i << " was " << before[i] << " and is " << after[i];
      break;
    }
  return load_model_config(folder / "back");
}

TEST(HuggingFaceExport, WhatIsExportedAndImportedComputesTheSame) {
  for (const auto tied :
       {TiedEmbeddings::all, TiedEmbeddings::decoder, TiedEmbeddings::source, TiedEmbeddings::none}) {
    SCOPED_TRACE(name_of_enum(tied));
    EXPECT_EQ(there_and_back([&](ModelConfig& config) { config.tied_embeddings = tied; }).positions,
              Positions::sinusoidal_halves);
  }
}

TEST(HuggingFaceExport, StacksMayHaveOtherHeadsAndWidths) {
  const ModelConfig back = there_and_back([](ModelConfig& config) {
    config.decoder_heads = config.heads / 2;
    config.decoder_d_ff = config.d_ff + 7;
  });
  const ModelConfig same = there_and_back([](ModelConfig& config) { config.decoder_heads = config.heads; });
  EXPECT_EQ(same.decoder_heads, 0);
  EXPECT_EQ(back.decoder_heads, back.heads / 2);
  EXPECT_EQ(back.decoder_d_ff, back.d_ff + 7);
}

/// transformers reads model.shared.weight only if the output is tied to it too.
TEST(HuggingFaceExport, EmbeddingsThatAreSharedWithoutTheOutputAreWrittenForBothSides) {
  const TemporaryFolder folder;
  write_own_model(folder / "own", [](ModelConfig& config) { config.tied_embeddings = TiedEmbeddings::source; });
  export_hugging_face(folder / "own", folder / "exported");
  const TensorMap tensors = read_safetensors(folder / "exported/model.safetensors");
  const auto bytes = tensors.at("model.shared.weight").bytes;
  for (const char* side : {"encoder", "decoder"}) {
    const auto& own = tensors.at(fmt::format("model.{}.embed_tokens.weight", side)).bytes;
    EXPECT_TRUE(std::ranges::equal(own, bytes)) << side;
  }
}

TEST(HuggingFaceExport, PositionsAndEpsilonsOfAllKindsAreExported) {
  for (const auto tied : {TiedEmbeddings::all, TiedEmbeddings::none})
    for (const auto positions : {Positions::sinusoidal, Positions::sinusoidal_halves,
                                 Positions::sinusoidal_marian, Positions::learned, Positions::none})
      for (const float epsilon : {1e-5f, tied == TiedEmbeddings::all ? 1e-6f : 1e-2f}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", name_of_enum(tied), name_of_enum(positions), epsilon));
        const ModelConfig back = there_and_back([&](ModelConfig& config) {
          config.tied_embeddings = tied;
          config.positions = positions;
          config.max_positions = 3;  // the last stands for those beyond
          config.norm_epsilon = epsilon;
        });
        EXPECT_EQ(back.norm_epsilon, 1e-5f);
        if (epsilon == 1e-5f && positions == Positions::sinusoidal_marian) {
          EXPECT_EQ(back.positions, Positions::sinusoidal_marian);
        }
      }
}

/// What MarianMTModel does not have is refused, and nothing is written.
TEST(HuggingFaceExport, AlternativesToThePaperAreNotExported) {
  const std::pair<const char*, void (*)(ModelConfig&)> refused[] = {
      {"its attention_score is 'dot'", [](ModelConfig& c) { c.attention_score = AttentionScore::dot; }},
      {"its attention_score is 'additive'",
       [](ModelConfig& c) { c.attention_score = AttentionScore::additive; }},
      {"have other widths or numbers (kv_heads", [](ModelConfig& c) { c.kv_heads = 1; }},
      {"its positions are 'rotary'", [](ModelConfig& c) { c.positions = Positions::rotary; }},
      {"its positions are 'alibi'", [](ModelConfig& c) { c.positions = Positions::alibi; }},
      {"as a T5ForConditionalGeneration: its tokenizer is not",
       [](ModelConfig& c) { c.positions = Positions::t5; }},
      {"its encoder_mixer is 'lstm'", [](ModelConfig& c) { c.encoder_mixer = MixerKind::lstm; }},
      {"its decoder_mixer 'restricted_attention'",
       [](ModelConfig& c) { c.decoder_mixer = MixerKind::restricted_attention; }},
      {"norm is not 'layer'", [](ModelConfig& c) { c.norm = Norm::rms; }},
      {"norm is not 'layer'", [](ModelConfig& c) { c.norm = Norm::batch; }},
      {"have a gate or no biases", [](ModelConfig& c) { c.feed_forward_gate = true; }}};
  for (const auto& entry : refused) {
    const TemporaryFolder folder;
    write_own_model(folder / "own", entry.second);
    const std::string message =
        error_message([&] { export_hugging_face(folder / "own", folder / "exported"); });
    EXPECT_NE(message.find(entry.first), std::string::npos) << message;
    EXPECT_FALSE(fs::exists(folder / "exported"));
  }
}

TEST(HuggingFaceExport, TheRulesOfSearchAreExported) {
  const auto expect_kept = [](const std::function<void(GenerationConfig&)>& change) {
    GenerationConfig rules{.beam_size = 3,
                           .normalization = ScoreNormalization::length,
                           .length_penalty = 0.5f,
                           .stopping_criterion = StoppingCriterion::beam_finished,
                           .length_factor = 0,
                           .length_offset = 77,
                           .at_longest = AtLongest::cut,
                           .min_new_tokens = 2,
                           .no_repeat_ngram = 3,
                           .suppress_tokens = {54, 7},
                           .begin_suppress_tokens = {9},
                           .suppress_phrases = {{8, 9}},
                           .forced_first_token = 11,
                           .allow_unk = true,
                           .renormalize_logits = true};
    change(rules);
    const ModelConfig config = there_and_back([&](ModelConfig& own) {
      own.generation = rules;
      own.decoder_start_token = 54;
    });
    const GenerationConfig& back = config.generation;
    EXPECT_EQ(back.beam_size, rules.beam_size);
    EXPECT_EQ(back.normalization, rules.normalization);
    EXPECT_EQ(back.length_penalty, rules.length_penalty);
    EXPECT_EQ(back.stopping_criterion, rules.stopping_criterion);
    EXPECT_EQ(back.length_factor, rules.length_factor);
    EXPECT_EQ(back.length_offset, rules.length_offset);
    EXPECT_EQ(back.at_longest, rules.at_longest);
    EXPECT_EQ(back.suppress_tokens, rules.suppress_tokens);
    EXPECT_EQ(back.min_new_tokens, rules.min_new_tokens);
    EXPECT_EQ(back.no_repeat_ngram, rules.no_repeat_ngram);
    EXPECT_EQ(back.repetition_penalty, rules.repetition_penalty);
    EXPECT_EQ(back.begin_suppress_tokens, rules.begin_suppress_tokens);
    EXPECT_EQ(back.suppress_phrases, rules.suppress_phrases);
    EXPECT_EQ(back.forced_first_token, rules.forced_first_token);
    EXPECT_EQ(back.renormalize_logits, rules.renormalize_logits);
    EXPECT_EQ(config.decoder_start_token, 54);
  };
  expect_kept([](GenerationConfig&) {});
  expect_kept(
      [](GenerationConfig& rules) { rules.stopping_criterion = StoppingCriterion::best_cannot_improve; });
  expect_kept([](GenerationConfig& rules) {
    rules.stopping_criterion = StoppingCriterion::best_is_no_better_now;
    rules.at_longest = AtLongest::certain_end;
    rules.length_offset = 2000;
    rules.min_new_tokens = 0;
    rules.renormalize_logits = false;
    rules.repetition_penalty = 1.2f;
  });
  // Where the length follows the source's, that of the longest source is the limit.
  const GenerationConfig paper =
      there_and_back([](ModelConfig& config) { config.generation = GenerationConfig(); }).generation;
  EXPECT_EQ(paper.length_offset, 512 + 50);
}

TEST(HuggingFaceExport, AModelCardIsExported) {
  const TemporaryFolder folder;
  write_own_model(folder / "own", [](ModelConfig& config) { config.generation.length_penalty = 0.6f; });
  std::ofstream(folder / "own" + "/provenance.json")
      << R"([{"step": "train", "updates": 9800, "pairs": 29000, "version": "0.1.0",
              "best": {"metric": "bleu", "value": 39.514, "update": 9500},
              "text": [{"path": "/somewhere/train.en.gz"}, {"path": "/somewhere/train.de"}]},
             {"step": "average", "models": 5, "version": "0.1.0"}])";
  export_hugging_face(folder / "own", folder / "exported");
  EXPECT_NE(read_file(folder / "exported" + "/generation_config.json").find("\"length_penalty\": 0.6\n"),
            std::string::npos);
  const std::string card = read_file(folder / "exported" + "/README.md");
  EXPECT_TRUE(
      card.starts_with("---\nlibrary_name: transformers\npipeline_tag: translation\nlanguage:\n- en\n- de\n"))
      << card;
  for (const char* part :
       {"from en to de", "0.0 million", "2 in the encoder, 2 in the decoder", ">>deu<< >>fra<<",
        "- trained for 9800 updates on 29000 pairs; best bleu 39.51 at update 9500 (sixfold 0.1.0)",
        "- average of 5 models", "[\">>deu<< A line", "MarianMTModel.from_pretrained",
        "ct2-transformers-converter"})
    EXPECT_NE(card.find(part), std::string::npos) << part << "\n" << card;
  EXPECT_EQ(card.find("somewhere"), std::string::npos) << "paths of the machine are nobody's business";
}

TEST(HuggingFaceExport, ExportNamesTheDifference) {
  const TemporaryFolder folder;
  write_own_model(folder / "own", [](ModelConfig& config) { config.decoder_start_token = 3; });
  EXPECT_NE(error_message([&] {
              export_hugging_face(folder / "own", folder / "exported");
            }).find("its decoder begins with token 3"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "exported"));
}

}  // namespace
}  // namespace sixfold
