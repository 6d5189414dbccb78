#include "model/config.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/join.h"
#include "error_message.h"
#include "model/transformer.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

ModelConfig config_of(Preset name, int vocab) {
  ModelConfig config;
  static_cast<Architecture&>(config) = preset(name);
  config.source_vocab = config.target_vocab = vocab;
  return config;
}

TEST(ModelConfig, ThePresetsHaveThePapersSizes) {
  EXPECT_EQ(parameter_count(config_of(Preset::base, 37'000)), 63'082'496);
  EXPECT_EQ(parameter_count(config_of(Preset::big, 37'000)), 214'245'376);
  EXPECT_EQ(preset(Preset::big).dropout, 0.3f);
  for (const auto& [name, text] : EnumNames<Preset>::names)
    EXPECT_NO_THROW(validate(config_of(name, 100))) << text;
}

TEST(ModelConfig, CountsEmbeddingsAsTheyAreTied) {
  ModelConfig config = config_of(Preset::tiny, 1000);
  const int64_t joint = parameter_count(config);
  config.tied_embeddings = TiedEmbeddings::decoder;
  config.source_vocab = 700;
  EXPECT_EQ(parameter_count(config), joint + 700 * 128);
  config.tied_embeddings = TiedEmbeddings::none;
  EXPECT_EQ(parameter_count(config), joint + 1700 * 128);
  config.output_bias = true;
  EXPECT_EQ(parameter_count(config), joint + 1700 * 128 + 1000);
}

TEST(ModelConfig, CountsHeadsOfAnyWidth) {
  ModelConfig config = config_of(Preset::tiny, 1000);
  const int64_t before = parameter_count(config);
  config.d_k = 32;  // they are given, and d_model / heads
  config.d_v = 32;
  EXPECT_EQ(parameter_count(config), before);
  config.d_k = 33;  // 4 heads, queries and keys, in 4 encoder and 8 decoder attentions
  EXPECT_EQ(parameter_count(config), before + 12 * 2 * 4 * (128 + 1));
  config.d_k = 32;
  config.d_v = 33;  // the values' map has a bias for each column, the output's has none
  EXPECT_EQ(parameter_count(config), before + 12 * 4 * (128 + 1 + 128));
}

TEST(Architecture, RotaryPositionsNeedProducts) {
  Architecture a = preset(Preset::tiny);
  a.positions = Positions::rotary;
  EXPECT_NO_THROW(validate(a));
  a.attention_score = AttentionScore::additive;
  EXPECT_NE(error_message([&] { validate(a); }).find("attention_score is 'additive'"), std::string::npos);
}

TEST(Architecture, SaysWhichSettingsNothingReads) {
  const auto settings = [](auto change) {
    Architecture a = preset(Preset::tiny);
    change(a);
    return join(without_effect(a), "; ");
  };
  for (const auto& [name, text] : EnumNames<Preset>::names)
    EXPECT_TRUE(without_effect(preset(name)).empty()) << text;
  EXPECT_EQ(settings([](auto& a) { a.attention_window = 9, a.kernel_size = 5; }),
            "attention_window: no mixer is restricted_attention; kernel_size: no mixer is a convolution");
  EXPECT_EQ(settings([](auto& a) {
              a.attention_window = 9, a.kernel_size = 5, a.decoder_mixer = MixerKind::restricted_attention;
              a.encoder_mixer = MixerKind::separable;
            }),
            "");
  const auto one_stack = [](auto& a) {
    a.kernel_size = 5, a.encoder_mixer = MixerKind::convolution, a.encoder_layers = 0;
  };
  EXPECT_EQ(settings(one_stack), "kernel_size: no mixer is a convolution");
  EXPECT_EQ(settings([](auto& a) {
              a.encoder_mixer = MixerKind::gru, a.decoder_mixer = MixerKind::bahdanau;
              a.attention_score = AttentionScore::dot;
            }),
            "attention_score: no attention has a choice of it");
  EXPECT_EQ(
      settings([](auto& a) {
        a.encoder_mixer = MixerKind::gru, a.decoder_layers = 0;
        a.d_k = 9, a.kv_heads = 1, a.attention_dropout = 0.1f;
      }),
      "d_k: no mixer is attention; kv_heads: no mixer is attention; attention_dropout: no mixer is attention");
  EXPECT_EQ(settings([](auto& a) { a.d_k = 9, a.kv_heads = 1, a.attention_dropout = 0.1f; }), "");
  EXPECT_EQ(
      settings([](auto& a) {
        a.dropout = 0.4f, a.postprocess_embedding = {}, a.postprocess = {ProcessStep::add, ProcessStep::norm};
      }),
      "dropout: no step of preprocess, postprocess or the others is 'dropout'");
  EXPECT_EQ(settings([](auto& a) { a.max_positions = 99; }), "max_positions: positions are not learned");
  EXPECT_EQ(settings([](auto& a) { a.max_positions = 99, a.positions = Positions::learned; }), "");
  EXPECT_EQ(settings([](auto& a) { a.position_buckets = 8, a.position_distance = 99; }),
            "position_buckets: positions are not t5; position_distance: positions are not t5");
  EXPECT_EQ(settings([](auto& a) { a.batch_norm_momentum = 0.5f; }), "batch_norm_momentum: norm is not batch");
  EXPECT_EQ(settings([](auto& a) { a.norm = Norm::rms, a.postprocess = {ProcessStep::add}; }),
            "norm: no step of preprocess, postprocess or the others is 'norm'");
}

TEST(ModelConfig, ValidationNamesTheKey) {
  const auto message = [](auto change) {
    ModelConfig config = config_of(Preset::tiny, 1000);
    change(config);
    return error_message([&] { validate(config); });
  };
  EXPECT_EQ(message([](auto& c) { c.heads = 3; }),
            "d_model 128 is not divisible by 3 heads; choose another number of heads, or set d_k and d_v");
  EXPECT_EQ(
      message([](auto& c) { c.decoder_heads = 3; }),
      "decoder_heads is 3: d_model 128 is not divisible by 3 heads; choose another number of heads, or set "
      "d_k and d_v");
  EXPECT_EQ(message([](auto& c) { c.heads = 0; }), "heads: expected a whole number from 1 to 1024, found '0'");
  EXPECT_EQ(message([](auto& c) { c.d_ff = -1; }),
            "d_ff: expected a whole number from 1 to 1048576, found '-1'");
  EXPECT_EQ(message([](auto& c) { c.dropout = 1; }), "dropout: expected a number from 0 to below 1, found '1'");
  EXPECT_EQ(
      message([](auto& c) { c.source_vocab = 999; }),
      "tied_embeddings: 'all' needs a joint vocabulary, but the source has 999 tokens and the target 1000; "
      "choose 'decoder' or 'none'");
  EXPECT_EQ(message([](auto& c) { c.eos = 1000; }), "eos: the id 1000 is not in the vocabulary of 1000 tokens");
  EXPECT_EQ(message([](auto& c) {
              c.generation.suppress_tokens = {5, 1000};
            }),
            "generation.suppress_tokens: the id 1000 is not in the vocabulary of 1000 tokens");
  EXPECT_EQ(message([](auto& c) { c.encoder_layers = 0, c.generation.coverage_penalty = 1; }),
            "generation.coverage_penalty is 1, but the model has no encoder whose output could be covered; "
            "set it to "
            "0");
  EXPECT_EQ(message([](auto& c) { c.generation.beam_size = 0; }),
            "generation.beam_size: expected a whole number from 1 to 1000, found '0'");
  EXPECT_EQ(message([](auto& c) {
              c.positions = Positions::alibi;
              c.encoder_mixer = c.decoder_mixer = MixerKind::lstm;
            }),
            "positions: 'alibi' changes the scores of self-attention, but encoder_mixer is 'lstm' and "
            "decoder_mixer 'lstm'; choose other positions, or attention in one of them");
  EXPECT_EQ(message([](auto& c) {
              c.positions = Positions::t5;
              c.position_buckets = 7;
            }),
            "position_buckets: 7 is odd; choose an even number");
  EXPECT_EQ(message([](auto& c) {
              c.positions = Positions::t5;
              c.position_distance = 16;
            }),
            "position_distance: 16 is too small for 32 position_buckets, half of which have one distance each; "
            "choose more than 16");
  EXPECT_EQ(message([](auto& c) {
              c.positions = Positions::relative_index;
              c.encoder_layers = 0;
            }),
            "positions: 'relative_index' divides by the length of the source, but encoder_layers is 0; choose "
            "'index'");
  EXPECT_EQ(message([](auto& c) { c.beyond_positions = BeyondPositions::error; }),
            "beyond_positions: 'error' is for learned positions, but positions is 'sinusoidal'; leave it out");
  EXPECT_EQ(
      message([](auto& c) { c.kv_heads = 3; }),
      "kv_heads: 4 heads of queries can't share 3 heads of keys and values evenly; choose a divisor of heads");
  EXPECT_NE(message([](auto& c) { c.attention_window = 0; }).find("attention_window"), std::string::npos);
  EXPECT_EQ(
      message([](auto& c) {
        c.encoder_mixer = MixerKind::lstm;
        c.d_model = 33;
        c.d_k = c.d_v = 8;
      }),
      "encoder_mixer: 'lstm' reads in two directions with half of d_model each, but d_model is 33; choose an "
      "even d_model");
  EXPECT_EQ(message([](auto& c) {
              c.decoder_mixer = MixerKind::bahdanau;
              c.attention_dropout = 0.1f;
            }),
            "decoder_mixer: 'bahdanau' has no dropout of attention weights; set attention_dropout to 0");
  EXPECT_EQ(message([](auto& c) {
              c.decoder_mixer = MixerKind::bahdanau;
              c.encoder_layers = 0;
            }),
            "decoder_mixer: 'bahdanau' attends to the source, but encoder_layers is 0; choose 'gru'");
  EXPECT_EQ(message([](auto& c) { c.encoder_mixer = MixerKind::ssru; }),
            "encoder_mixer: 'ssru' is for decoders only; choose another, or set decoder_mixer");
  ModelConfig odd = config_of(Preset::tiny, 1000);
  odd.heads = 3;
  odd.d_k = 10;
  odd.d_v = 20;
  EXPECT_NO_THROW(validate(odd));
  EXPECT_EQ(odd.key_width(), 10);
  EXPECT_EQ(odd.value_width(), 20);
}

}  // namespace
}  // namespace sixfold
