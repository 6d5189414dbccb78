#include "model/layers/attention.h"

#include <array>

namespace sixfold {

MultiHeadAttention::MultiHeadAttention(ParameterBuilder make, const std::string& name, const Architecture& a)
    : name_(name),
      query_(make.in(name).in("q_proj"), a.d_model, a.heads * a.key_width(), Initial::projection,
             a.attention_bias),
      key_(make.in(name).in("k_proj"), a.d_model, a.key_value_heads() * a.key_width(), Initial::projection,
           a.attention_bias),
      value_(make.in(name).in("v_proj"), a.d_model, a.key_value_heads() * a.value_width(), Initial::projection,
             a.attention_bias),
      out_(make.in(name).in("out_proj"), a.heads * a.value_width(), a.d_model, Initial::xavier,
           a.attention_bias),
      score_weight_(a.attention_score == AttentionScore::additive
                        ? make.in(name).vector("score_weight", a.heads * a.key_width(), Initial::embedding)
                        : Tensor()),
      heads_(a.heads),
      kv_heads_(a.key_value_heads()),
      scaled_(a.attention_score == AttentionScore::scaled_dot),
      widths_{int64_t{kv_heads_} * a.key_width(), int64_t{kv_heads_} * a.value_width()},
      dropout_(a.attention_dropout) {}

KeyValues MultiHeadAttention::project(const Tensor& x, Context& context) const {
  Context::Scope scope(context, name_);
  return {key_(x, context), value_(x, context), nullptr};
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const KeyValues& seen, AttentionKind kind,
                                      LayerContext& c, const Extras& extras) const {
  Context::Scope scope(c.context, name_);
  ops::AttentionInputs inputs{.query = query_(x, c.context),
                              .key = seen.keys,
                              .value = seen.values,
                              .heads = heads_,
                              .kv_heads = kv_heads_,
                              .window = extras.window,
                              .scaled = scaled_,
                              .score_weight = score_weight_,
                              .distance_bias = extras.distance_bias};
  if (extras.query_norm) inputs.query = ops::norm(c.context, inputs.query, *extras.query_norm);
  if (extras.angles) inputs.query = ops::rotate(c.context, inputs.query, extras.angles, c.rows);
  if (c.observer && c.observer->wants(kind, c.layer))
    c.observer->observe_attention(kind, c.layer, inputs, *seen.pattern, c.context);
  const Tensor heads =
      ops::attention(c.context, inputs, seen.pattern, c.context.dropout(dropout_, c.rows));  // [q, heads * d_v]
  return out_(heads, c.context);
}

SelfAttention::SelfAttention(const ParameterBuilder& make, const Architecture& a, MixerPlace place, int window)
    : attention_(make, "self_attn", a), window_(window) {
  const int64_t each_side = window == kernel::Attention::everywhere ? Reach::all : window;
  reach_ = {.left = each_side, .right = place.stack == AttentionKind::decoder ? 0 : each_side};
  if (a.positions == Positions::rotary)
    angles_.emplace(make.backend(), make.dtype(), a.key_width(), rotary_angles(a));
  if (!a.query_key_norm) return;
  const auto norm = [&](const char* name) {
    return ops::NormWeights{
        .weight = make.in("self_attn").in(name).vector("weight", a.key_width(), Initial::ones),
        .bias = {},
        .epsilon = a.norm_epsilon,
        .centered = false};
  };
  query_norm_ = norm("q_norm");
  key_norm_ = norm("k_norm");
}

/// Keys are stored after the norm and the rotation, since their positions do not change.
Tensor SelfAttention::operator()(const Tensor& x, LayerContext& c) const {
  KeyValues projected = attention_.project(x, c.context);
  if (key_norm_) projected.keys = ops::norm(c.context, projected.keys, *key_norm_);
  const Tensor angles = angles_ ? angles_->for_length(c.rows.longest) : Tensor();
  if (angles) projected.keys = ops::rotate(c.context, projected.keys, angles, c.rows);
  const std::array parts{projected.keys, projected.values};
  const StateRows seen = c.state.append(c.layer, parts);
  return attention_(x, {seen.parts[0], seen.parts[1], seen.pattern}, c.kind, c,
                    {.query_norm = query_norm_ ? &*query_norm_ : nullptr,
                     .angles = angles,
                     .distance_bias = c.distance_bias,
                     .window = window_});
}

}  // namespace sixfold
