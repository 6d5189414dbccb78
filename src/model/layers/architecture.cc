#include "model/layers/architecture.h"

#include <algorithm>

#include "base/error.h"
#include "base/plural.h"

namespace sixfold {

Architecture preset(Preset name) {
  Architecture a;
  switch (name) {
    case Preset::tiny:
      a.d_model = 128, a.d_ff = 256, a.heads = 4, a.encoder_layers = a.decoder_layers = 4;
      break;
    case Preset::small:
      a.d_model = 256, a.d_ff = 1024, a.heads = 4, a.encoder_layers = a.decoder_layers = 3;
      break;
    case Preset::base:
      break;
    case Preset::big:
      a.d_model = 1024, a.d_ff = 4096, a.heads = 16, a.dropout = 0.3f;
      break;
  }
  return a;
}

PositionEffect effect_of(Positions kind) {
  switch (kind) {
    case Positions::sinusoidal:
    case Positions::sinusoidal_halves:
    case Positions::sinusoidal_marian:
      return PositionEffect::sinusoids;
    case Positions::learned:
      return PositionEffect::learned_table;
    case Positions::rotary:
      return PositionEffect::rotation;
    case Positions::alibi:
    case Positions::t5:
      return PositionEffect::distance_bias;
    case Positions::index:
    case Positions::relative_index:
      return PositionEffect::feature;
    case Positions::none:
      return PositionEffect::none;
  }
  throw_unknown("kind of positions", kind);
}

bool has_step(const std::vector<ProcessStep>& steps, ProcessStep step) {
  return std::count(steps.begin(), steps.end(), step) > 0;
}

bool has_dropout_step(const Architecture& a) {
  const auto drops = [](const auto&... steps) { return (has_step(steps, ProcessStep::dropout) || ...); };
  return drops(a.postprocess_embedding, a.preprocess, a.postprocess, a.postprocess_top);
}

static void validate_rotation(const Architecture& a) {
  const RotaryScaling& s = a.rotary_scaling;
  require(a.key_width() % 2 == 0,
          "positions: 'rotary' rotates pairs of features, but d_k is {}; choose an even d_k", a.key_width());
  require(a.rotary_features % 2 == 0 && a.rotary_features <= a.key_width(),
          "rotary_features: {} is odd or more than d_k, {}; choose an even number up to it", a.rotary_features,
          a.key_width());
  const bool ranges = s.kind == RotaryScalingKind::llama3 || s.kind == RotaryScalingKind::yarn;
  require(!ranges || s.original_context > 0, "rotary_scaling.original_context: '{}' needs it; set it",
          name_of_enum(s.kind));
  require(!ranges || s.low < s.high, "rotary_scaling.low: {} is not less than rotary_scaling.high, {}", s.low,
          s.high);
  require(s.kind != RotaryScalingKind::yarn || a.rotary_base > 1,
          "rotary_base: rotary_scaling 'yarn' needs more than 1");
  const int64_t pairs = s.kind == RotaryScalingKind::factors ? a.rotated_features() / 2 : 0;
  require(std::ssize(s.factors) == pairs,
          "rotary_scaling.factors: has {}; '{}' needs one for each of {} pairs of rotated features",
          counted(std::ssize(s.factors), "factor"), name_of_enum(s.kind), pairs);
}

static void validate_positions(const Architecture& a) {
  const std::string_view kind = name_of_enum(a.positions);
  const PositionEffect effect = effect_of(a.positions);
  const bool of_scores = effect == PositionEffect::rotation || effect == PositionEffect::distance_bias;
  const bool self_attention = (a.has_encoder() && is_self_attention(a.encoder_mixer)) ||
                              (a.has_decoder() && is_self_attention(a.decoder_mixer));
  require(!of_scores || self_attention,
          "positions: '{}' changes the scores of self-attention, but encoder_mixer is '{}' and decoder_mixer "
          "'{}'; choose other positions, or attention in one of them",
          kind, name_of_enum(a.encoder_mixer), name_of_enum(a.decoder_mixer));
  require(
      a.positions != Positions::rotary || a.attention_score != AttentionScore::additive,
      "positions: 'rotary' makes products of queries and keys depend on their distance, but attention_score is "
      "'additive'; choose another score, or other positions");
  if (a.positions == Positions::rotary) validate_rotation(a);
  if (a.positions == Positions::t5) {
    require(a.position_buckets % 2 == 0, "position_buckets: {} is odd; choose an even number",
            a.position_buckets);
    require(a.position_distance > a.position_buckets / 2,
            "position_distance: {} is too small for {} position_buckets, half of which have one distance each; "
            "choose more than {}",
            a.position_distance, a.position_buckets, a.position_buckets / 2);
  }
  require(a.beyond_positions == BeyondPositions::last || a.positions == Positions::learned,
          "beyond_positions: 'error' is for learned positions, but positions is '{}'; leave it out", kind);
  const bool feature = effect == PositionEffect::feature;
  require(!feature || a.d_model >= 2,
          "positions: '{}' takes one feature of the embedding, but d_model is {}; choose at least 2", kind,
          a.d_model);
  require(a.positions != Positions::relative_index || a.has_encoder(),
          "positions: 'relative_index' divides by the length of the source, but encoder_layers is 0; choose "
          "'index'");
}

static void validate_options(const Architecture& a) {
  require(a.token_types == 0 || a.has_encoder(),
          "token_types: they are for encoders, but encoder_layers is 0; leave it out");
  require(a.output_scale == 1 || a.has_decoder(),
          "output_scale: it is a factor of the decoder's states, but decoder_layers is 0; leave it out");
}

static void validate_mixers(const Architecture& a) {
  const MixerKind encoder = a.encoder_mixer;
  require(!is_for_decoders(encoder),
          "encoder_mixer: '{}' is for decoders only; choose another, or set decoder_mixer",
          name_of_enum(encoder));
  require(!(encoder == MixerKind::recurrent || encoder == MixerKind::lstm || encoder == MixerKind::gru) ||
              a.d_model % 2 == 0,
          "encoder_mixer: '{}' reads in two directions with half of d_model each, but d_model is {}; choose an "
          "even d_model",
          name_of_enum(encoder), a.d_model);
  if (a.decoder_mixer != MixerKind::bahdanau) return;
  require(a.has_encoder(),
          "decoder_mixer: 'bahdanau' attends to the source, but encoder_layers is 0; choose 'gru'");
  require(a.attention_dropout == 0,
          "decoder_mixer: 'bahdanau' has no dropout of attention weights; set attention_dropout to 0");
}

/// The heads of a stack with the sizes of `a`.
static void validate_heads(const Architecture& a) {
  require((a.d_k > 0 && a.d_v > 0) || a.d_model % a.heads == 0,
          "d_model {} is not divisible by {} heads; choose another number of heads, or set d_k and d_v",
          a.d_model, a.heads);
  require(
      a.heads % a.key_value_heads() == 0,
      "kv_heads: {} heads of queries can't share {} heads of keys and values evenly; choose a divisor of heads",
      a.heads, a.key_value_heads());
}

Architecture Architecture::of_decoder() const {
  Architecture a = *this;
  if (decoder_heads) a.heads = decoder_heads;
  if (decoder_d_ff) a.d_ff = decoder_d_ff;
  a.decoder_heads = a.decoder_d_ff = 0;
  return a;
}

static void validate_decoder_heads(const Architecture& a) {
  try {
    validate_heads(a.of_decoder());
    if (a.positions == Positions::rotary) validate_rotation(a.of_decoder());
  } catch (const Error& error) {
    throw_input_error("decoder_heads is {}: {}", a.decoder_heads, error.what());
  }
}

void validate(const Architecture& a) {
  check_ranges(a);
  require(a.has_encoder() || a.has_decoder(),
          "encoder_layers and decoder_layers are both 0; at least one must be positive");
  const bool one_stack = !a.has_encoder() || !a.has_decoder();
  require(a.decoder_heads == 0 || !one_stack, "decoder_heads: the model has one stack only; set heads");
  require(a.decoder_d_ff == 0 || !one_stack, "decoder_d_ff: the model has one stack only; set d_ff");
  validate_heads(a);
  validate_mixers(a);
  validate_positions(a);
  if (a.decoder_heads) validate_decoder_heads(a);
  validate_options(a);
  const auto check = [](std::string_view key, const std::vector<ProcessStep>& steps, bool may_add) {
    for (const ProcessStep step : {ProcessStep::dropout, ProcessStep::add, ProcessStep::norm})
      require(std::count(steps.begin(), steps.end(), step) <= 1, "{}: {} occurs twice; remove one", key,
              name_of_enum(step));
    require(may_add || !has_step(steps, ProcessStep::add), "{}: 'add' is not possible here; remove it", key);
  };
  check("postprocess_embedding", a.postprocess_embedding, false);
  check("preprocess", a.preprocess, false);
  check("postprocess", a.postprocess, true);
  check("postprocess_top", a.postprocess_top, true);
}

std::vector<std::string> without_effect(const Architecture& a) {
  const Architecture defaults;
  const auto mixes = [&](auto... kinds) {
    return ((a.has_encoder() && ((a.encoder_mixer == kinds) || ...)) ||
            (a.has_decoder() && ((a.decoder_mixer == kinds) || ...)));
  };
  const auto normalizes = [](const auto&... steps) { return (has_step(steps, ProcessStep::norm) || ...); };
  const bool norm = normalizes(a.postprocess_embedding, a.preprocess, a.postprocess, a.postprocess_top);
  std::vector<std::string> found;
  const auto check = [&](std::string_view key, bool changed, bool read, std::string_view reason) {
    if (changed && !read) found.push_back(fmt::format("{}: {}", key, reason));
  };
  check("attention_window", a.attention_window != defaults.attention_window,
        mixes(MixerKind::restricted_attention), "no mixer is restricted_attention");
  const bool attends = mixes(MixerKind::attention, MixerKind::restricted_attention) ||
                       (a.has_encoder() && a.has_decoder() && a.decoder_mixer != MixerKind::bahdanau);
  check("attention_score", a.attention_score != defaults.attention_score, attends,
        "no attention has a choice of it");
  check("d_k", a.d_k != defaults.d_k, attends, "no mixer is attention");
  check("kv_heads", a.kv_heads != defaults.kv_heads, attends, "no mixer is attention");
  check("attention_dropout", a.attention_dropout > 0, attends, "no mixer is attention");
  check("attention_bias", !a.attention_bias, attends, "no mixer is attention");
  check("query_key_norm", a.query_key_norm, mixes(MixerKind::attention, MixerKind::restricted_attention),
        "no mixer is attention");
  check("dropout", a.dropout != defaults.dropout && a.dropout > 0, has_dropout_step(a),
        "no step of preprocess, postprocess or the others is 'dropout'");
  check("kernel_size", a.kernel_size != defaults.kernel_size,
        mixes(MixerKind::convolution, MixerKind::separable), "no mixer is a convolution");
  check("max_positions", a.max_positions != defaults.max_positions, a.positions == Positions::learned,
        "positions are not learned");
  check("rotary_base", a.rotary_base != defaults.rotary_base, a.positions == Positions::rotary,
        "positions are not rotary");
  check("rotary_features", a.rotary_features > 0, a.positions == Positions::rotary, "positions are not rotary");
  check("rotary_scaling", a.rotary_scaling.kind != defaults.rotary_scaling.kind,
        a.positions == Positions::rotary, "positions are not rotary");
  check("separate_positions", a.separate_positions, a.positions == Positions::learned,
        "positions are not learned");
  check("position_offset", a.position_offset > 0, effect_of(a.positions) == PositionEffect::sinusoids,
        "positions are not sinusoidal");
  check("position_buckets", a.position_buckets != defaults.position_buckets, a.positions == Positions::t5,
        "positions are not t5");
  check("position_distance", a.position_distance != defaults.position_distance, a.positions == Positions::t5,
        "positions are not t5");
  check("batch_norm_momentum", a.batch_norm_momentum != defaults.batch_norm_momentum, a.norm == Norm::batch,
        "norm is not batch");
  check("norm", a.norm != defaults.norm, norm, "no step of preprocess, postprocess or the others is 'norm'");
  return found;
}

void require_positions(const Architecture& a, int64_t tokens, const std::string& what) {
  require(
      !a.limits_length() || tokens <= a.max_positions,
      "{} has {} tokens, but max_positions is {} and beyond_positions is 'error'; shorten it, or use a model "
      "with more positions or with beyond_positions 'last'",
      what, tokens, a.max_positions);
}

void require_decoder(const Architecture& a, const std::string& where) {
  require(a.has_decoder(), "{}: the model has no decoder (decoder_layers is 0)", where);
}

void require_encoder_and_decoder(const Architecture& a, const std::string& where) {
  require(a.has_encoder() && a.has_decoder(), "{}: translation needs an encoder and a decoder, but {}", where,
          a.has_encoder()
              ? "decoder_layers is 0"
              : "encoder_layers is 0; a language model is for 'sixfold generate' and 'sixfold score --input'");
}

}  // namespace sixfold
