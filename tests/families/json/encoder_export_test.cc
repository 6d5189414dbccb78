// Encoders that are exported to folders of Hugging Face: models of networks of our own, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "error_message.h"
#include "families/changed_model.h"
#include "families/families.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "tasks/classification/classifier.h"
#include "tasks/embedding/embedder.h"
#include "tasks/embedding/settings.h"
#include "tasks/import_model.h"
#include "tasks/masked_language_model/mask_filler.h"
#include "tasks/question_answering/settings.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using nlohmann::json;

const std::string encoder_goldens = SIXFOLD_TEST_GOLDENS "/hugging_face_families/";

/// A model with the tokenizer and the config of a golden one, which is changed, and weights of its own.
void write_own_encoder(const std::string& golden, const std::string& folder,
                       const std::function<void(ModelConfig&)>& change) {
  const TemporaryFolder imported;
  import_hugging_face(encoder_goldens + golden, imported / "model");
  ModelConfig config = load_model_config(imported / "model");
  const Tokenizers tokenizers = load_bound_tokenizers(imported / "model", config);
  change(config);
  const Transformer model = changed_model(config);
  if (tokenizers.source)
    write_model_folder(folder, model, tokenizers);
  else
    write_model_folder(folder, model, [](const std::string&) {});
}

/// The class that a model of our own is exported as, after a check that it fills masks alike when it is read
/// again.
std::string exported_mask_filler(const std::function<void(ModelConfig&)>& change) {
  const TemporaryFolder folder;
  write_own_encoder("bert_masked", folder / "own", change);
  export_hugging_face(folder / "own", folder / "exported");
  import_hugging_face(folder / "exported", folder / "back");
  const std::string text = "the old <mask> sees a cat";
  const FilledText before = MaskFiller(folder / "own").fill({&text, 1})[0],
                   after = MaskFiller(folder / "back").fill({&text, 1})[0];
  EXPECT_FALSE(before.error || after.error);
  for (size_t i = 0; i < before.masks.at(0).size(); ++i) {
    EXPECT_EQ(before.masks[0][i].text, after.masks.at(0).at(i).text);
    EXPECT_NEAR(before.masks[0][i].probability, after.masks[0][i].probability, 1e-5);
  }
  return json::parse(read_file(folder / "exported/config.json"))["architectures"][0];
}

TEST(EncoderExport, TheFamilyFollowsFromTheNetwork) {
  EXPECT_EQ(exported_mask_filler([](ModelConfig& c) { c.token_types = 2; }), "BertForMaskedLM");
  EXPECT_EQ(exported_mask_filler([](ModelConfig& c) {
              c.token_types = 1, c.activation = Activation::relu, c.head.activation = Activation::gelu;
            }),
            "RobertaForMaskedLM");
  EXPECT_EQ(exported_mask_filler([](ModelConfig& c) { c.token_types = 0, c.norm_epsilon = 1e-12f; }),
            "DistilBertForMaskedLM");
  EXPECT_EQ(exported_mask_filler([](ModelConfig& c) { c.token_types = 0, c.norm_epsilon = 1e-3f; }),
            "BertForMaskedLM");
}

/// Sines and cosines become a table, and biases that a model does not have zeros.
TEST(EncoderExport, WhatAFamilyHasInAnotherFormIsExported) {
  for (const TiedEmbeddings tied : {TiedEmbeddings::all, TiedEmbeddings::none})
    EXPECT_EQ(exported_mask_filler([&](ModelConfig& c) {
                c.token_types = 2;
                c.positions = Positions::sinusoidal;
                c.beyond_positions = BeyondPositions::last;
                c.attention_bias = c.feed_forward_bias = c.output_bias = false;
                c.tied_embeddings = tied;
                c.context_tokens = 40;
              }),
              "BertForMaskedLM");
}

/// Only the positions of the texts that it was trained with are exported.
TEST(EncoderExport, TheLongestTextIsKept) {
  const TemporaryFolder folder;
  write_own_encoder("bert_masked", folder / "own", [](ModelConfig& c) { c.context_tokens = 30; });
  export_hugging_face(folder / "own", folder / "exported");
  import_hugging_face(folder / "exported", folder / "back");
  EXPECT_EQ(load_model_config(folder / "back").max_positions, 32);
  EXPECT_EQ(load_model_config(folder / "back").context_tokens, 30);
  EXPECT_EQ(json::parse(read_file(folder / "exported/tokenizer_config.json"))["model_max_length"], 32);
}

TEST(EncoderExport, TheFilesOfSentenceTransformersAreExported) {
  for (const Pooling pooling : {Pooling::mean, Pooling::first})
    for (const bool normalize : {false, true}) {
      const TemporaryFolder folder;
      write_own_encoder("sentence_transformers", folder / "own", [&](ModelConfig& c) {
        c.head.pooling = pooling;
        c.settings = write_options(EmbeddingSettings{normalize});
        c.context_tokens = 5;
      });
      export_hugging_face(folder / "own", folder / "exported");
      import_hugging_face(folder / "exported", folder / "back");
      const ModelConfig back = load_model_config(folder / "back");
      EXPECT_EQ(back.head.pooling, pooling);
      EXPECT_EQ(back.context_tokens, 5);
      EXPECT_EQ(settings_of<EmbeddingSettings>(back).normalize, normalize);
      const std::string text = "the old dog sees a cat";
      EXPECT_EQ(Embedder(folder / "own").embed({&text, 1})[0].values,
                Embedder(folder / "back").embed({&text, 1})[0].values);
    }
}

TEST(EncoderExport, AClassifierOfImagesIsExportedAsVit) {
  const TemporaryFolder folder;
  write_own_encoder("vit", folder / "own", [](ModelConfig& c) {
    c.image.mean = {0.2f}, c.image.std = {0.3f};
    c.image.stride = c.image.patch;
    c.positions = Positions::sinusoidal;
    c.attention_bias = c.feed_forward_bias = false;
  });
  export_hugging_face(folder / "own", folder / "exported");
  import_hugging_face(folder / "exported", folder / "back");
  const ModelConfig back = load_model_config(folder / "back");
  EXPECT_EQ(back.image.mean, (std::vector<float>{0.2f, 0.2f, 0.2f}));
  Image image{.size = {back.image.height, back.image.width, 3}, .values = {}};
  for (int64_t i = 0; i < image.size.values(); ++i) image.values.push_back(static_cast<uint8_t>(i * 37 % 256));
  const auto before = Classifier(folder / "own").classify_images({&image, 1})[0],
             after = Classifier(folder / "back").classify_images({&image, 1})[0];
  ASSERT_FALSE(before.error || after.error);
  for (size_t i = 0; i < before.probabilities.size(); ++i)
    EXPECT_NEAR(before.probabilities[i], after.probabilities.at(i), 1e-6);
}

struct Refused {
  const char* golden;
  const char* message;
  void (*change)(ModelConfig&);
};

TEST(EncoderExport, WhatNoFamilyHasIsRefusedByName) {
  const Refused all[] = {
      {"bert_masked", "as a RobertaForMaskedLM: its positions are 'rotary'",
       [](ModelConfig& c) { c.positions = Positions::rotary, c.beyond_positions = BeyondPositions::last; }},
      {"bert_masked", "its encoder_mixer is 'lstm'",
       [](ModelConfig& c) { c.encoder_mixer = MixerKind::lstm, c.token_types = 2; }},
      {"bert_masked", "its attention_score is 'dot'",
       [](ModelConfig& c) { c.attention_score = AttentionScore::dot; }},
      {"bert_masked", "(kv_heads, d_k, d_v)", [](ModelConfig& c) { c.d_k = 2; }},
      {"bert_masked", "its norm is 'rms'", [](ModelConfig& c) { c.norm = Norm::rms; }},
      {"bert_masked", "(postprocess_embedding)", [](ModelConfig& c) { c.postprocess_embedding = {}; }},
      {"bert_masked", "do not follow the residual connections",
       [](ModelConfig& c) { c.preprocess = {ProcessStep::norm}, c.postprocess = {ProcessStep::add}; }},
      {"bert_masked", "(feed_forward_gate)", [](ModelConfig& c) { c.feed_forward_gate = true; }},
      {"bert_masked", "its activation is 'tanh'",
       [](ModelConfig& c) { c.activation = c.head.activation = Activation::tanh; }},
      {"bert_masked", "(embedding_scale)", [](ModelConfig& c) { c.embedding_scale = true; }},
      {"bert_masked", "its query_key_norm is true", [](ModelConfig& c) { c.query_key_norm = true; }},
      {"bert_masked", "its head.dense is false", [](ModelConfig& c) { c.head.dense = c.head.norm = false; }},
      {"bert_masked", "its head.norm is false", [](ModelConfig& c) { c.head.norm = false; }},
      {"bert_masked", "its head.activation is 'tanh'",
       [](ModelConfig& c) { c.head.activation = Activation::tanh; }},
      {"bert_classes", "its head.pooling is 'mean'", [](ModelConfig& c) { c.head.pooling = Pooling::mean; }},
      {"bert_classes", "its head.activation is 'relu' instead of 'tanh'",
       [](ModelConfig& c) { c.head.activation = Activation::relu, c.norm_epsilon = 1e-3f; }},
      {"bert_spans", "its separators are not 1",
       [](ModelConfig& c) { c.token_types = 2, c.settings = write_options(AnswerSettings{.separators = 2}); }},
      {"sentence_transformers", "its head.pooling is 'attention'",
       [](ModelConfig& c) { c.head.pooling = Pooling::attention; }},
      {"vit", "(image.class_token)",
       [](ModelConfig& c) { c.image.class_token = false, c.head.pooling = Pooling::mean; }},
      {"vit", "its head.pooling is 'mean'", [](ModelConfig& c) { c.head.pooling = Pooling::mean; }},
      {"vit", "its norms are not before the sub-layers",
       [](ModelConfig& c) {
         c.preprocess = c.postprocess_top = {}, c.postprocess = {ProcessStep::add, ProcessStep::norm};
       }},
      {"vit", "its positions are 'alibi'", [](ModelConfig& c) { c.positions = Positions::alibi; }}};
  for (const Refused& refused : all) {
    const TemporaryFolder folder;
    write_own_encoder(refused.golden, folder / "own", refused.change);
    const std::string error = error_message([&] { export_hugging_face(folder / "own", folder / "exported"); });
    EXPECT_NE(error.find(refused.message), std::string::npos) << refused.message << "\n" << error;
    EXPECT_FALSE(std::filesystem::exists(folder / "exported"));
  }
}

}  // namespace
}  // namespace sixfold
