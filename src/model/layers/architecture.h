#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/options.h"

namespace sixfold {

/// Which of the three matrices of section 3.4 share their weights: source embedding, target embedding, output
/// projection.
enum class TiedEmbeddings {
  all,      ///< all three, as in the paper; needs a joint vocabulary
  decoder,  ///< target embedding and output projection
  source,   ///< source and target embedding; needs a joint vocabulary
  none,
};

/// How the positions of tokens are encoded (section 3.5).
enum class Positions {
  sinusoidal,         ///< the paper's: sines and cosines interleaved
  sinusoidal_halves,  ///< the same values, all sines before all cosines, as in Hugging Face's Marian
  sinusoidal_marian,  ///< all sines before all cosines, wavelengths up to exactly 2 pi 10000, as in Marian
  learned,            ///< a learned vector for each position, one table for source and target
  rotary,             ///< queries and keys of self-attention are rotated by their positions (Su et al. 2021)
  alibi,              ///< each head of self-attention subtracts a multiple of the distance (Press et al. 2022)
  t5,              ///< each head of self-attention adds a learned number for the distance (Raffel et al. 2020)
  index,           ///< the last feature of the embedding is the position: 1, 2, 3, ...
  relative_index,  ///< the last feature of the embedding is the share of the sentence: 1/n, 2/n, ..., 1
  none,
};

/// The way in which position encodings of a kind enter the model.
enum class PositionEffect {
  sinusoids,      ///< vectors of sines and cosines, which are added to embeddings
  learned_table,  ///< learned vectors, which are added to embeddings
  feature,        ///< a feature of embeddings
  rotation,       ///< of queries and keys of self-attention
  distance_bias,  ///< of the scores of self-attention
  none,
};
PositionEffect effect_of(Positions kind);

/// How the wavelengths of rotary positions are changed for texts longer than those of an earlier training.
enum class RotaryScalingKind {
  none,
  linear,   ///< all are multiplied by `factor` (Chen et al. 2023)
  llama3,   ///< long ones are multiplied by `factor`, short ones are unchanged; the factor changes linearly
            ///< between
  yarn,     ///< as llama3, with another range between, and rotated features are scaled (Peng et al. 2024)
  factors,  ///< each is multiplied by another factor, as found by LongRoPE (Ding et al. 2024)
};

/// What happens at a position beyond the table of learned positions.
enum class BeyondPositions {
  last,   ///< it gets the vector of the last position
  error,  ///< the sentence is refused
};

/// The sub-layer that mixes the tokens of a sequence in a layer.
enum class MixerKind {
  attention,             ///< self-attention, as in the paper
  restricted_attention,  ///< self-attention to `attention_window` neighbours on each side (section 4)
  recurrent,             ///< a plain recurrent network with tanh (Elman 1990)
  lstm,                  ///< long short-term memory (Hochreiter and Schmidhuber 1997)
  gru,                   ///< gated recurrent units (Cho et al. 2014)
  bahdanau,     ///< gated recurrent units that attend to the source in each step (Bahdanau et al. 2015)
  ssru,         ///< the simpler simple recurrent unit (Kim et al. 2019)
  average,      ///< the average of the tokens so far, gated (Zhang et al. 2018)
  convolution,  ///< a gated convolution of `kernel_size` tokens (Gehring et al. 2017)
  separable,    ///< a depthwise-separable convolution of `kernel_size` tokens (Kaiser et al. 2018)
};

/// How attention compares a query with a key.
enum class AttentionScore {
  scaled_dot,  ///< q k / sqrt(d_k), as in the paper
  dot,         ///< q k (Luong et al. 2015)
  additive,    ///< v tanh(q + k) with a learned v (Bahdanau et al. 2015)
};

/// How states are normalized.
enum class Norm {
  layer,  ///< layer normalization, as in the paper (Ba et al. 2016)
  rms,    ///< RMSNorm: by the root mean square; no bias (Zhang and Sennrich 2019)
  batch,  ///< each feature over the tokens of a batch (Ioffe and Szegedy 2015)
};

/// An operation on the input or output of a sub-layer.
enum class ProcessStep {
  dropout,
  add,   ///< adds the input of the sub-layer: the residual connection
  norm,  ///< `Architecture::norm`
};

/// The sizes of table 3 of the paper (`base`, `big`), and two smaller ones for less text or time.
enum class Preset { tiny, small, base, big };

template <>
struct EnumNames<TiedEmbeddings> {
  static constexpr std::pair<TiedEmbeddings, std::string_view> names[] = {{TiedEmbeddings::all, "all"},
                                                                          {TiedEmbeddings::decoder, "decoder"},
                                                                          {TiedEmbeddings::source, "source"},
                                                                          {TiedEmbeddings::none, "none"}};
};

template <>
struct EnumNames<Activation> {
  static constexpr std::pair<Activation, std::string_view> names[] = {
      {Activation::relu, "relu"},
      {Activation::swish, "swish"},
      {Activation::gelu, "gelu"},
      {Activation::sigmoid_gelu, "sigmoid_gelu"},
      {Activation::tanh_gelu, "tanh_gelu"},
      {Activation::sigmoid, "sigmoid"},
      {Activation::tanh, "tanh"}};
};

template <>
struct EnumNames<Positions> {
  static constexpr std::pair<Positions, std::string_view> names[] = {
      {Positions::sinusoidal, "sinusoidal"},
      {Positions::sinusoidal_halves, "sinusoidal_halves"},
      {Positions::sinusoidal_marian, "sinusoidal_marian"},
      {Positions::learned, "learned"},
      {Positions::rotary, "rotary"},
      {Positions::alibi, "alibi"},
      {Positions::t5, "t5"},
      {Positions::index, "index"},
      {Positions::relative_index, "relative_index"},
      {Positions::none, "none"}};
};

template <>
struct EnumNames<Norm> {
  static constexpr std::pair<Norm, std::string_view> names[] = {
      {Norm::layer, "layer"}, {Norm::rms, "rms"}, {Norm::batch, "batch"}};
};

template <>
struct EnumNames<BeyondPositions> {
  static constexpr std::pair<BeyondPositions, std::string_view> names[] = {{BeyondPositions::last, "last"},
                                                                           {BeyondPositions::error, "error"}};
};

template <>
struct EnumNames<RotaryScalingKind> {
  static constexpr std::pair<RotaryScalingKind, std::string_view> names[] = {
      {RotaryScalingKind::none, "none"},
      {RotaryScalingKind::linear, "linear"},
      {RotaryScalingKind::llama3, "llama3"},
      {RotaryScalingKind::yarn, "yarn"},
      {RotaryScalingKind::factors, "factors"}};
};

template <>
struct EnumNames<MixerKind> {
  static constexpr std::pair<MixerKind, std::string_view> names[] = {
      {MixerKind::attention, "attention"},
      {MixerKind::restricted_attention, "restricted_attention"},
      {MixerKind::recurrent, "recurrent"},
      {MixerKind::lstm, "lstm"},
      {MixerKind::gru, "gru"},
      {MixerKind::bahdanau, "bahdanau"},
      {MixerKind::ssru, "ssru"},
      {MixerKind::average, "average"},
      {MixerKind::convolution, "convolution"},
      {MixerKind::separable, "separable"}};
};

template <>
struct EnumNames<AttentionScore> {
  static constexpr std::pair<AttentionScore, std::string_view> names[] = {
      {AttentionScore::scaled_dot, "scaled_dot"},
      {AttentionScore::dot, "dot"},
      {AttentionScore::additive, "additive"}};
};

template <>
struct EnumNames<ProcessStep> {
  static constexpr std::pair<ProcessStep, std::string_view> names[] = {
      {ProcessStep::dropout, "dropout"}, {ProcessStep::add, "add"}, {ProcessStep::norm, "norm"}};
};

template <>
struct EnumNames<Preset> {
  static constexpr std::pair<Preset, std::string_view> names[] = {
      {Preset::tiny, "tiny"}, {Preset::small, "small"}, {Preset::base, "base"}, {Preset::big, "big"}};
};

/// How the wavelengths of rotary positions are changed.
struct RotaryScaling {
  RotaryScalingKind kind = RotaryScalingKind::none;
  float factor = 1;
  int original_context = 0;  ///< number of tokens of a text in the earlier training, for llama3 and yarn
  /// A wavelength is long if the original context has fewer than `low` periods of it, and short if it has more
  /// than `high` periods.
  float low = 1, high = 4;
  bool whole_features = true;  ///< yarn's range begins and ends at a pair of features, and not between two
  float magnitude = 1;         ///< factor of all rotated features, for yarn and factors
  std::vector<float> factors;  ///< of the wavelength of each pair of rotated features, for factors

  bool operator==(const RotaryScaling&) const = default;
};

inline void visit(OptionVisitor& v, RotaryScaling& o) {
  v.field("kind", o.kind, "none, linear, llama3, yarn or factors");
  v.field("factor", o.factor, "factor of the long wavelengths, or of all", between(1, 1e6));
  v.field("original_context", o.original_context,
          "number of tokens of a text in the earlier training, for llama3 and yarn", between(0, 1 << 30));
  v.field("low", o.low, "wavelengths of which the original context has fewer are long", between(1e-6, 1e6));
  v.field("high", o.high, "wavelengths of which the original context has more are short", between(1e-6, 1e6));
  v.field("whole_features", o.whole_features, "round yarn's range of wavelengths to whole pairs of features");
  v.field("magnitude", o.magnitude, "factor of rotated features, for yarn and factors", between(1e-6, 1e3));
  v.field("factors", o.factors, "factor of the wavelength of each pair of rotated features, for factors",
          between(1e-6, 1e6));
}

/// An architecture without its vocabularies. The defaults are the paper's base model.
struct Architecture {
  int d_model = 512;
  int heads = 8;
  int decoder_heads = 0;       ///< of a decoder that has another number than the encoder; 0: `heads`
  int d_k = 0;                 ///< width of a head's queries and keys; 0: d_model / heads
  int d_v = 0;                 ///< width of a head's values; 0: d_model / heads
  int kv_heads = 0;            ///< number of heads of keys and values, which heads of queries share; 0: `heads`
  bool attention_bias = true;  ///< of the projections of attention
  bool query_key_norm = false;  ///< RMSNorm of the queries and keys of each head of self-attention
  AttentionScore attention_score = AttentionScore::scaled_dot;
  MixerKind encoder_mixer = MixerKind::attention;
  MixerKind decoder_mixer = MixerKind::attention;
  int attention_window = 64;  ///< neighbours on each side that restricted attention sees
  int kernel_size = 3;        ///< number of tokens that an output of a convolution sees
  int d_ff = 2048;
  int decoder_d_ff = 0;  ///< of a decoder that has another width than the encoder; 0: `d_ff`
  int encoder_layers = 6;
  int decoder_layers = 6;
  TiedEmbeddings tied_embeddings = TiedEmbeddings::all;
  Activation activation = Activation::relu;
  bool feed_forward_gate = false;  ///< multiply the activation by a second linear map (GLU, GEGLU, SwiGLU)
  bool feed_forward_bias = true;
  bool parallel_residual = false;  ///< the sub-layers of a layer read and add to the same states
  Norm norm = Norm::layer;
  float batch_norm_momentum = 0.1f;  ///< share of an update's statistics in the running averages
  Positions positions = Positions::sinusoidal;
  int max_positions = 512;  ///< size of the table of learned positions
  BeyondPositions beyond_positions = BeyondPositions::last;
  bool separate_positions = false;  ///< each stack has a table of learned positions of its own
  int position_offset = 0;          ///< number of the first sinusoidal position
  float rotary_base = 10000;        ///< of the wavelengths of rotary positions
  int rotary_features = 0;          ///< of a head, the first ones, which are rotated; 0: all
  RotaryScaling rotary_scaling = {};
  int position_buckets = 32;    ///< number of distances that T5's positions tell apart in one direction or both
  int position_distance = 128;  ///< distances from here on share a bucket
  std::vector<ProcessStep> postprocess_embedding = {ProcessStep::dropout};  ///< on embedding + position
  std::vector<ProcessStep> preprocess = {};                                 ///< on a sub-layer's input
  std::vector<ProcessStep> postprocess = {ProcessStep::dropout, ProcessStep::add,
                                          ProcessStep::norm};  ///< on its output
  std::vector<ProcessStep> postprocess_top = {};  ///< on a stack's output; `add` adds the stack's input
  float norm_epsilon = 1e-5f;
  bool embedding_scale = true;  ///< multiply embeddings by sqrt(d_model)
  int token_types = 0;          ///< number of token types that the encoder embeds, as BERT does; 0: none
  bool output_bias = false;
  float output_scale = 1;  ///< factor of the decoder's states before the output projection
  float dropout = 0.1f;    ///< on outputs of sub-layers and on embedding + position (section 5.4)
  float attention_dropout = 0;
  float activation_dropout = 0;
  int decoder_start_token = zero_start;  ///< first input of the decoder, an id of the target vocabulary

  /// No token: the decoder begins with an embedding of zeros, as the paper's own program does.
  static constexpr int zero_start = -1;

  /// The same with the sizes of the decoder's layers as those of all layers. What belongs to the decoder takes
  /// its number of heads and its widths from here.
  Architecture of_decoder() const;

  bool has_encoder() const { return encoder_layers > 0; }
  bool has_decoder() const { return decoder_layers > 0; }
  /// Whether source and target use one embedding matrix.
  bool shares_embedding() const {
    return tied_embeddings == TiedEmbeddings::all || tied_embeddings == TiedEmbeddings::source;
  }
  /// Whether the output projection is an embedding matrix: the target's, or without a decoder the source's.
  bool shares_output() const {
    return tied_embeddings == TiedEmbeddings::all ||
           (has_decoder() && tied_embeddings == TiedEmbeddings::decoder);
  }
  /// Whether sentences of more than `max_positions` tokens are refused.
  bool limits_length() const {
    return positions == Positions::learned && beyond_positions == BeyondPositions::error;
  }
  int key_width() const { return d_k ? d_k : d_model / heads; }
  int value_width() const { return d_v ? d_v : d_model / heads; }
  int key_value_heads() const { return kv_heads ? kv_heads : heads; }
  int rotated_features() const { return rotary_features ? rotary_features : key_width(); }
};

inline void visit(OptionVisitor& v, Architecture& o) {
  const Range share = from_to_below(0, 1);
  v.field("d_model", o.d_model, "width of the model: size of embeddings and of the outputs of layers",
          between(1, 1 << 20));
  v.field("heads", o.heads, "number of attention heads", between(1, 1024));
  v.field("decoder_heads", o.decoder_heads, "number of attention heads in the decoder; 0: heads",
          between(0, 1024));
  v.field("d_k", o.d_k, "width of a head's queries and keys; 0: d_model / heads", between(0, 1 << 16));
  v.field("d_v", o.d_v, "width of a head's values; 0: d_model / heads", between(0, 1 << 16));
  v.field("kv_heads", o.kv_heads,
          "number of heads of keys and values, each shared by heads / kv_heads heads of queries (grouped-query "
          "attention; 1: multi-query); 0: heads",
          between(0, 1024));
  v.field("attention_bias", o.attention_bias, "add biases in the projections of attention");
  v.field("query_key_norm", o.query_key_norm,
          "normalize the queries and keys of each head of self-attention by RMSNorm");
  v.field("attention_score", o.attention_score,
          "how attention compares a query with a key: scaled_dot, dot or additive");
  v.field("encoder_mixer", o.encoder_mixer,
          "what mixes the tokens in the encoder: attention, restricted_attention, recurrent, lstm, gru, "
          "convolution or separable");
  v.field("decoder_mixer", o.decoder_mixer,
          "what mixes the tokens in the decoder: the same, bahdanau, ssru or average");
  v.field("attention_window", o.attention_window,
          "number of neighbours on each side, in the decoder to the left, that restricted attention sees",
          between(1, 1 << 20));
  v.field("kernel_size", o.kernel_size, "number of tokens that an output of a convolution sees",
          between(1, 1024));
  v.field("d_ff", o.d_ff, "inner width of the feed-forward layers", between(1, 1 << 20));
  v.field("decoder_d_ff", o.decoder_d_ff, "inner width of the feed-forward layers of the decoder; 0: d_ff",
          between(0, 1 << 20));
  v.field("encoder_layers", o.encoder_layers, "number of encoder layers; translation needs at least 1",
          between(0, 1000));
  v.field("decoder_layers", o.decoder_layers, "number of decoder layers; translation needs at least 1",
          between(0, 1000));
  v.field(
      "tied_embeddings", o.tied_embeddings,
      "which embeddings share weights: all (source, target, output), decoder (target, output), source (source, "
      "target) or none");
  v.field("activation", o.activation,
          "activation of the feed-forward layers: relu, swish, gelu, sigmoid_gelu, tanh_gelu, sigmoid or tanh");
  v.field(
      "feed_forward_gate", o.feed_forward_gate,
      "multiply the activation by a second linear map: GLU with sigmoid, GEGLU with gelu, SwiGLU with swish");
  v.field("feed_forward_bias", o.feed_forward_bias, "add biases in the feed-forward layers");
  v.field("parallel_residual", o.parallel_residual,
          "the sub-layers of a layer read the same states, to which all of them add");
  v.field("norm", o.norm, "how states are normalized: layer (LayerNorm), rms (RMSNorm) or batch (BatchNorm)");
  v.field("batch_norm_momentum", o.batch_norm_momentum,
          "share of an update's statistics in the running averages of BatchNorm", between(1e-6, 1));
  v.field("positions", o.positions,
          "position encodings: sinusoidal, sinusoidal_halves, sinusoidal_marian, learned, rotary, alibi, t5, "
          "index, relative_index or none");
  v.field("max_positions", o.max_positions, "number of learned positions", between(1, 1 << 20));
  v.field("beyond_positions", o.beyond_positions,
          "what happens beyond the learned positions: last (use the vector of the last) or error");
  v.field("separate_positions", o.separate_positions,
          "encoder and decoder have tables of learned positions of their own");
  v.field("position_offset", o.position_offset, "number of the first sinusoidal position", between(0, 1 << 20));
  v.field("rotary_base", o.rotary_base,
          "base of the wavelengths of rotary positions; larger for models of long texts", between(1, 1e12));
  v.field("rotary_features", o.rotary_features,
          "number of features of a head, from the first on, that rotary positions rotate; 0: all",
          between(0, 1 << 16));
  v.group("rotary_scaling", o.rotary_scaling,
          "change of the wavelengths of rotary positions for texts longer than those of an earlier training");
  v.field("position_buckets", o.position_buckets, "number of buckets of distances for t5 positions",
          between(4, 1 << 12));
  v.field("position_distance", o.position_distance, "distances from here on share a bucket of t5 positions",
          between(2, 1 << 20));
  v.field("postprocess_embedding", o.postprocess_embedding,
          "steps after embedding and position are added: dropout, norm");
  v.field("preprocess", o.preprocess, "steps before each sub-layer: dropout, norm; [norm] in a pre-norm model");
  v.field("postprocess", o.postprocess,
          "steps after each sub-layer: dropout, add, norm; [dropout, add] in a pre-norm model");
  v.field("postprocess_top", o.postprocess_top,
          "steps after the last layer of encoder and decoder: dropout, add, norm; [norm] in a pre-norm model");
  v.field("norm_epsilon", o.norm_epsilon, "added to the variance in norms", between(1e-12, 1));
  v.field("embedding_scale", o.embedding_scale, "multiply embeddings by sqrt(d_model)");
  v.field(
      "token_types", o.token_types,
      "number of kinds of texts that an encoder tells apart by a learned vector, such as question and text; "
      "0: it does not",
      between(0, 1 << 10));
  v.field("output_bias", o.output_bias, "add a bias to the output logits");
  v.field("output_scale", o.output_scale, "factor of the decoder's states before the output projection",
          between(1e-6, 1e3));
  v.field("dropout", o.dropout, "dropout rate on outputs of sub-layers and on embeddings", share);
  v.field("attention_dropout", o.attention_dropout, "dropout rate on attention weights", share);
  v.field("activation_dropout", o.activation_dropout, "dropout rate inside the feed-forward layers", share);
  v.field("decoder_start_token", o.decoder_start_token,
          "id of the first input of the decoder; -1: an embedding of zeros", at_least(-1));
}

/// The architecture of a preset.
Architecture preset(Preset name);

/// Whether a mixer is self-attention, over all tokens or over a neighbourhood.
constexpr bool is_self_attention(MixerKind kind) {
  return kind == MixerKind::attention || kind == MixerKind::restricted_attention;
}

/// Whether a mixer reads only earlier tokens, or the source, so that an encoder can't have it.
constexpr bool is_for_decoders(MixerKind kind) {
  return kind == MixerKind::ssru || kind == MixerKind::average || kind == MixerKind::bahdanau;
}

/// Whether `steps` contain `step`.
bool has_step(const std::vector<ProcessStep>& steps, ProcessStep step);
/// Whether one of the steps, around embeddings or layers, is dropout.
bool has_dropout_step(const Architecture& architecture);

/// Throws an input error that names the key if a size is out of range, d_model is not divisible by the number
/// of heads, or steps are not allowed where they stand.
void validate(const Architecture& architecture);

/// The settings that differ from the defaults although no part of the architecture uses them, each with the
/// reason: "kernel_size: no mixer is a convolution".
std::vector<std::string> without_effect(const Architecture& architecture);

/// Throws an input error that begins with `what`, such as "line 7", if a sentence of `tokens` tokens is longer
/// than the table of learned positions and `beyond_positions` does not allow that.
void require_positions(const Architecture& architecture, int64_t tokens, const std::string& what);

/// Throw an input error that begins with `where` if the model lacks the decoder, or one of both stacks.
void require_decoder(const Architecture& architecture, const std::string& where);
void require_encoder_and_decoder(const Architecture& architecture, const std::string& where);

}  // namespace sixfold
