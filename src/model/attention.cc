#include "model/attention.h"

namespace sixfold {

MultiHeadAttention::MultiHeadAttention(ParameterMaker& make, const std::string& name, const Architecture& a)
    : name_(name),
      query_(make, name + ".q_proj", a.d_model, a.heads * a.key_width(), Initial::projection),
      key_(make, name + ".k_proj", a.d_model, a.heads * a.key_width(), Initial::projection),
      value_(make, name + ".v_proj", a.d_model, a.heads * a.value_width(), Initial::projection),
      out_(make, name + ".out_proj", a.heads * a.value_width(), a.d_model),
      heads_(a.heads),
      dropout_(a.attention_dropout) {}

KeysValues MultiHeadAttention::keys_values(const Tensor& x,
                                           std::shared_ptr<const ops::AttentionPattern> pattern,
                                           Pass& pass) const {
  Pass::Scope scope(pass, name_);
  return {key_(x, pass), value_(x, pass), std::move(pattern)};
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const KeysValues& memory, const TokenRows& rows,
                                      Pass& pass) const {
  Pass::Scope scope(pass, name_);
  const Tensor heads = ops::attention(pass, {query_(x, pass), memory.keys, memory.values, heads_},
                                      memory.pattern, pass.dropout(dropout_, rows));  // [q, heads * d_v]
  return out_(heads, pass);
}

Tensor MultiHeadAttention::weights(const Tensor& x, const KeysValues& memory, Pass& pass) const {
  return ops::attention_weights(pass, {query_(x, pass), memory.keys, memory.values, heads_}, *memory.pattern);
}

}  // namespace sixfold
