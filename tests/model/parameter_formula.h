#pragma once
#include <cstdint>
#include <vector>

#include "model/config.h"

namespace sixfold {

/// Whether the layers of the decoder have a cross-attention of their own.
inline bool has_cross_attention(const ModelConfig& c) {
  return c.has_encoder() && c.decoder_mixer != MixerKind::bahdanau;
}

/// The number of norms of a model.
inline int64_t norm_count(const ModelConfig& c) {
  const auto norms = [](const std::vector<ProcessStep>& steps) {
    return has_step(steps, ProcessStep::norm) ? 1 : 0;
  };
  const int64_t sublayers = 2 * c.encoder_layers + (has_cross_attention(c) ? 3 : 2) * c.decoder_layers;
  const int64_t stacks = c.has_encoder() + c.has_decoder();
  return sublayers * (norms(c.preprocess) + norms(c.postprocess)) +
         stacks * (norms(c.postprocess_embedding) + norms(c.postprocess_top));
}

/// The number of weights by the formulas of the parts: an attention has 4 linear maps with biases, a
/// feed-forward network 2, a norm 2 vectors; tied embeddings count once.
inline int64_t parameters_by_formula(const ModelConfig& c) {
  const auto linear = [](int64_t in, int64_t out) { return in * out + out; };
  const auto projection = [&](int64_t in, int64_t out) { return in * out + (c.attention_bias ? out : 0); };
  const int64_t d_model = c.d_model;
  const auto attention_of = [&](const Architecture& a) -> int64_t {
    const int64_t heads = a.heads, kv_heads = a.key_value_heads();
    return projection(d_model, heads * a.key_width()) + projection(d_model, kv_heads * a.key_width()) +
           projection(d_model, kv_heads * a.value_width()) + projection(heads * a.value_width(), d_model) +
           (a.attention_score == AttentionScore::additive ? heads * a.key_width() : 0);
  };
  const auto feed_forward_of = [&](const Architecture& a) {
    const int64_t expansions = a.feed_forward_gate ? 2 : 1;
    return (expansions + 1) * d_model * a.d_ff + (a.feed_forward_bias ? expansions * a.d_ff + d_model : 0);
  };
  const Architecture decoder = c.of_decoder();
  const int64_t norm = (c.norm == Norm::rms ? 1 : 2) * d_model;
  const auto recurrent = [&](int64_t gates, int64_t d, bool bias) {
    return linear(d_model, gates * d) + gates * d * d + (bias ? gates * d : 0);
  };
  const auto both = [&](AttentionKind stack, int64_t gates, bool bias) {  // two directions in an encoder
    return stack == AttentionKind::encoder ? 2 * recurrent(gates, d_model / 2, bias)
                                           : recurrent(gates, d_model, bias);
  };
  const auto mixer = [&](AttentionKind stack, MixerKind kind) -> int64_t {
    const Architecture& a = stack == AttentionKind::decoder ? decoder : c;
    const int64_t heads = a.heads, kv_heads = a.key_value_heads();
    switch (kind) {
      case MixerKind::recurrent:
        return both(stack, 1, false);
      case MixerKind::lstm:
        return both(stack, 4, false);
      case MixerKind::gru:
        return both(stack, 3, true);
      case MixerKind::bahdanau:
        return recurrent(3, d_model, true) + linear(d_model, heads * a.key_width()) +
               linear(d_model, kv_heads * a.key_width()) + linear(d_model, kv_heads * a.value_width()) +
               heads * a.key_width() + 3 * d_model * heads * a.value_width();
      case MixerKind::ssru:
        return linear(d_model, d_model) + d_model * d_model;
      case MixerKind::average:
        return linear(2 * d_model, 2 * d_model);
      case MixerKind::convolution:
        return linear(c.kernel_size * d_model, 2 * d_model);
      case MixerKind::separable:
        return (c.kernel_size + 1) * d_model + linear(d_model, d_model);
      default:
        return attention_of(a) + (a.query_key_norm ? 2 * a.key_width() : 0);
    }
  };
  const int64_t encoder_layer = mixer(AttentionKind::encoder, c.encoder_mixer) + feed_forward_of(c);
  const int64_t decoder_layer = mixer(AttentionKind::decoder, c.decoder_mixer) + feed_forward_of(decoder) +
                                (has_cross_attention(c) ? attention_of(decoder) : 0);
  const int64_t biased_heads = (c.has_encoder() && is_self_attention(c.encoder_mixer) ? c.heads : 0) +
                               (c.has_decoder() && is_self_attention(c.decoder_mixer) ? decoder.heads : 0);
  const int64_t positions =
      c.positions == Positions::learned
          ? (c.separate_positions ? c.has_encoder() + c.has_decoder() : 1) * c.max_positions * d_model
      : c.positions == Positions::t5 ? biased_heads * c.position_buckets
                                     : 0;

  int64_t tokens =
      c.shares_output() ? 0 : c.target_vocab;  // rows of all embeddings and of an untied output projection
  if (c.has_encoder()) tokens += c.source_vocab;
  if (c.has_decoder() && !(c.has_encoder() && c.shares_embedding())) tokens += c.target_vocab;
  return tokens * d_model + positions + c.token_types * d_model + (c.output_bias ? c.target_vocab : 0) +
         c.encoder_layers * encoder_layer + c.decoder_layers * decoder_layer + norm_count(c) * norm;
}

}  // namespace sixfold
