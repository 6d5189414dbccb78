#pragma once
#include "model/small_model.h"

namespace sixfold {

/// A change of the small model.
struct Variant {
  const char* name;
  void (*change)(ModelConfig&);
};

/// What else a Transformer can be, besides the paper's.
inline const Variant variants[] = {
    {"pre_norm",
     [](ModelConfig& c) {
       c.preprocess = {ProcessStep::norm};
       c.postprocess = {ProcessStep::dropout, ProcessStep::add};
       c.postprocess_top = {ProcessStep::norm};
     }},
    {"norms_everywhere",
     [](ModelConfig& c) {
       c.preprocess = {ProcessStep::norm, ProcessStep::dropout};
       c.postprocess_embedding = {ProcessStep::norm, ProcessStep::dropout};
       c.postprocess_top = {ProcessStep::add, ProcessStep::norm};
     }},
    {"no_norms",
     [](ModelConfig& c) {
       c.postprocess = {ProcessStep::add, ProcessStep::dropout};
       c.postprocess_embedding = {};
     }},
    {"swish_without_positions",
     [](ModelConfig& c) {
       c.activation = Activation::swish;
       c.positions = Positions::none;
       c.embedding_scale = false;
     }},
    {"learned_positions_and_gelu",
     [](ModelConfig& c) {
       c.activation = Activation::gelu;
       c.positions = Positions::learned;
       c.max_positions = 40;  // some sentences are longer
     }},
    {"positions_in_halves",
     [](ModelConfig& c) {
       c.activation = Activation::sigmoid_gelu;
       c.positions = Positions::sinusoidal_halves;
       c.tied_embeddings = TiedEmbeddings::source;
     }},
    {"rms_norm_and_swiglu",
     [](ModelConfig& c) {
       c.norm = Norm::rms;
       c.activation = Activation::swish;
       c.feed_forward_gate = true;
       c.feed_forward_bias = false;
     }},
    {"pre_rms_norm_and_glu",
     [](ModelConfig& c) {
       c.norm = Norm::rms;
       c.preprocess = {ProcessStep::norm};
       c.postprocess = {ProcessStep::dropout, ProcessStep::add};
       c.postprocess_top = {ProcessStep::norm};
       c.activation = Activation::sigmoid;
       c.feed_forward_gate = true;
     }},
    {"tanh_gelu_without_feed_forward_bias",
     [](ModelConfig& c) {
       c.activation = Activation::tanh_gelu;
       c.feed_forward_bias = false;
     }},
    {"rotary_positions", [](ModelConfig& c) { c.positions = Positions::rotary; }},
    // The decoder's first state is zeros, which a norm makes steep: finite differences would step over kinks of
    // ReLU.
    {"alibi_positions",
     [](ModelConfig& c) {
       c.activation = Activation::swish;
       c.positions = Positions::alibi;
     }},
    {"t5_positions",
     [](ModelConfig& c) {
       c.activation = Activation::swish;
       c.positions = Positions::t5;
       c.position_buckets = 8;
       c.position_distance = 20;  // some tokens are further apart
     }},
    {"index_positions",
     [](ModelConfig& c) {
       c.positions = Positions::index;
       c.preprocess = {ProcessStep::norm};  // else products of positions make scores of hundreds
       c.postprocess = {ProcessStep::dropout, ProcessStep::add};
       c.postprocess_top = {ProcessStep::norm};
     }},
    {"relative_index_positions", [](ModelConfig& c) { c.positions = Positions::relative_index; }},
    {"learned_positions_that_end",
     [](ModelConfig& c) {
       c.positions = Positions::learned;
       c.max_positions = 60;
       c.beyond_positions = BeyondPositions::error;
     }},
    {"convolution",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::convolution;
       c.kernel_size = 3;
     }},
    {"wide_even_convolution",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::convolution;
       c.kernel_size = 8;  // some sentences are shorter
     }},
    {"convolution_of_one_token",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::convolution;
       c.kernel_size = 1;
     }},
    {"separable",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::separable;
       c.kernel_size = 5;
     }},
    {"ssru", [](ModelConfig& c) { c.decoder_mixer = MixerKind::ssru; }},
    {"average_and_even_separable",
     [](ModelConfig& c) {
       c.encoder_mixer = MixerKind::separable;
       c.kernel_size = 4;
       c.decoder_mixer = MixerKind::average;
     }},
    {"recurrent", [](ModelConfig& c) { c.encoder_mixer = c.decoder_mixer = MixerKind::recurrent; }},
    {"lstm", [](ModelConfig& c) { c.encoder_mixer = c.decoder_mixer = MixerKind::lstm; }},
    {"gru", [](ModelConfig& c) { c.encoder_mixer = c.decoder_mixer = MixerKind::gru; }},
    {"bahdanau",
     [](ModelConfig& c) {
       c.encoder_mixer = MixerKind::gru;
       c.decoder_mixer = MixerKind::bahdanau;
     }},
    {"restricted_attention",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::restricted_attention;
       c.attention_window = 2;
     }},
    {"restricted_attention_with_t5_positions",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::restricted_attention;
       c.attention_window = 5;
       c.activation = Activation::swish;
       c.positions = Positions::t5;
       c.position_buckets = 8;
       c.position_distance = 20;
     }},
    {"multi_query", [](ModelConfig& c) { c.kv_heads = 1; }},
    {"grouped_query",
     [](ModelConfig& c) {
       c.heads = 4, c.d_k = 6, c.d_v = 5;
       c.kv_heads = 2;
     }},
    {"unscaled", [](ModelConfig& c) { c.attention_score = AttentionScore::dot; }},
    {"additive", [](ModelConfig& c) { c.attention_score = AttentionScore::additive; }},
    {"batch_norm",
     [](ModelConfig& c) {
       c.norm = Norm::batch;
       c.preprocess = {ProcessStep::norm};
     }},
    // As Qwen 3 and GPT-NeoX have them.
    {"normalized_heads_without_bias",
     [](ModelConfig& c) {
       c.attention_bias = false;
       c.query_key_norm = true;
       c.heads = 4, c.kv_heads = 2;
       c.positions = Positions::rotary;
       c.rotary_features = 8;
       c.rotary_scaling = {.kind = RotaryScalingKind::yarn,
                           .factor = 4,
                           .original_context = 20,
                           .low = 0.5f,
                           .magnitude = 1.2f};
     }},
    {"parallel_sublayers",
     [](ModelConfig& c) {
       c.preprocess = {ProcessStep::norm};
       c.postprocess = {ProcessStep::dropout, ProcessStep::add};
       c.postprocess_top = {ProcessStep::norm};
       c.parallel_residual = true;
       c.activation = Activation::tanh;
     }},
    // As BART and T5 have them.
    {"tables_of_each_stack",
     [](ModelConfig& c) {
       c.positions = Positions::learned;
       c.max_positions = 70;
       c.separate_positions = true;
       c.token_types = 2;
       c.output_scale = 0.25f;
     }},
    {"sizes_of_each_stack",
     [](ModelConfig& c) {
       c.heads = 4, c.decoder_heads = 2, c.kv_heads = 2;
       c.decoder_d_ff = c.d_ff / 2 + 3;
       c.positions = Positions::rotary;
     }},
    {"marian_positions",
     [](ModelConfig& c) {
       c.positions = Positions::sinusoidal_marian;
       c.position_offset = 2;
       c.output_bias = true;
     }},
};

}  // namespace sixfold
