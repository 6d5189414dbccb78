#include "model/attention.h"

namespace sixfold {

MultiHeadAttention::MultiHeadAttention(ParameterBuilder& make, const std::string& name, const Architecture& a)
    : name_(name),
      query_(make, name + ".q_proj", a.d_model, a.heads * a.key_width(), Initial::projection),
      key_(make, name + ".k_proj", a.d_model, a.heads * a.key_width(), Initial::projection),
      value_(make, name + ".v_proj", a.d_model, a.heads * a.value_width(), Initial::projection),
      out_(make, name + ".out_proj", a.heads * a.value_width(), a.d_model),
      heads_(a.heads),
      dropout_(a.attention_dropout) {}

KeyValues MultiHeadAttention::keys_values(const Tensor& x, std::shared_ptr<const ops::AttentionPattern> pattern,
                                          Context& context) const {
  Context::Scope scope(context, name_);
  return {key_(x, context), value_(x, context), std::move(pattern)};
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const KeyValues& memory, const TokenRows& rows,
                                      Context& context) const {
  Context::Scope scope(context, name_);
  const Tensor heads = ops::attention(context, {query_(x, context), memory.keys, memory.values, heads_},
                                      memory.pattern, context.dropout(dropout_, rows));  // [q, heads * d_v]
  return out_(heads, context);
}

Tensor MultiHeadAttention::weights(const Tensor& x, const KeyValues& memory, Context& context) const {
  return ops::attention_weights(context, {query_(x, context), memory.keys, memory.values, heads_},
                                *memory.pattern);
}

}  // namespace sixfold
