#include "layers/attention.h"

#include <array>

namespace sixfold {

MultiHeadAttention::MultiHeadAttention(ParameterBuilder make, const std::string& name, const Architecture& a)
    : name_(name),
      query_(make.in(name).in("q_proj"), a.d_model, a.heads * a.key_width(), Initial::projection),
      key_(make.in(name).in("k_proj"), a.d_model, a.heads * a.key_width(), Initial::projection),
      value_(make.in(name).in("v_proj"), a.d_model, a.heads * a.value_width(), Initial::projection),
      out_(make.in(name).in("out_proj"), a.heads * a.value_width(), a.d_model),
      heads_(a.heads),
      widths_{int64_t{a.heads} * a.key_width(), int64_t{a.heads} * a.value_width()},
      dropout_(a.attention_dropout) {}

KeyValues MultiHeadAttention::project(const Tensor& x, Context& context) const {
  Context::Scope scope(context, name_);
  return {key_(x, context), value_(x, context), nullptr};
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const KeyValues& seen, AttentionKind kind,
                                      LayerContext& c, const Tensor& angles) const {
  Context::Scope scope(c.context, name_);
  ops::AttentionInputs inputs{query_(x, c.context), seen.keys, seen.values, heads_};
  if (angles) inputs.query = ops::rotate(c.context, inputs.query, angles, c.rows);
  if (c.observer && c.observer->wants(kind, c.layer))
    c.observer->see(kind, c.layer, ops::attention_weights(c.context, inputs, *seen.pattern));
  const Tensor heads =
      ops::attention(c.context, inputs, seen.pattern, c.context.dropout(dropout_, c.rows));  // [q, heads * d_v]
  return out_(heads, c.context);
}

SelfAttention::SelfAttention(const ParameterBuilder& make, const Architecture& a)
    : attention_(make, "self_attn", a) {
  if (a.positions == Positions::rotary)
    angles_.emplace(make.backend(), make.dtype(), a.key_width(), Positions::sinusoidal);
}

/// Keys are kept as they were rotated, since their positions do not change.
Tensor SelfAttention::operator()(const Tensor& x, LayerContext& c) const {
  KeyValues own = attention_.project(x, c.context);
  const Tensor angles = angles_ ? angles_->at_least(c.rows.longest) : Tensor();
  if (angles) own.keys = ops::rotate(c.context, own.keys, angles, c.rows);
  const std::array parts{own.keys, own.values};
  const StateRows seen = c.state.append(c.layer, parts);
  return attention_(x, {seen.parts[0], seen.parts[1], seen.pattern}, c.kind, c, angles);
}

}  // namespace sixfold
