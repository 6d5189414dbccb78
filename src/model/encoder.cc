#include "model/encoder.h"

#include <fmt/format.h>

namespace sixfold {
namespace {

std::shared_ptr<const ops::AttentionPattern> everything(const TokenRows& rows) {
  return std::make_shared<ops::AttentionPattern>(
      ops::attention_pattern(rows.ragged, rows.ragged, /*causal=*/false));
}

std::vector<EncoderLayer> make_layers(ParameterMaker& make, const Architecture& a) {
  std::vector<EncoderLayer> layers;
  for (int i = 0; i < a.encoder_layers; ++i) {
    ParameterMaker::Prefix prefix(make, fmt::format("encoder.layers.{}", i));
    layers.emplace_back(make, a);
  }
  return layers;
}

}  // namespace

EncoderLayer::EncoderLayer(ParameterMaker& make, const Architecture& a)
    : self_attention_(make, "self_attn", a),
      self_connection_(make, "self_attn_layer_norm", a),
      feed_forward_(make, a),
      feed_forward_connection_(make, "final_layer_norm", a) {}

Tensor EncoderLayer::operator()(const Tensor& x, const TokenRows& rows,
                                const std::shared_ptr<const ops::AttentionPattern>& pattern, Pass& pass) const {
  const Tensor y = self_connection_(x, rows, pass, [&](const Tensor& tokens) {
    return self_attention_(tokens, self_attention_.keys_values(tokens, pattern, pass), rows, pass);
  });
  return feed_forward_connection_(y, rows, pass,
                                  [&](const Tensor& tokens) { return feed_forward_(tokens, rows, pass); });
}

Tensor EncoderLayer::attention_weights(const Tensor& x, const TokenRows& rows,
                                       const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                       Pass& pass) const {
  const Tensor tokens = self_connection_.input(x, rows, pass);
  return self_attention_.weights(tokens, self_attention_.keys_values(tokens, pattern, pass), pass);
}

Encoder::Encoder(ParameterMaker& make, const Architecture& a)
    : embedding_steps_(make, "encoder.layernorm_embedding", steps_after_embedding(a), a),
      layers_(make_layers(make, a)),
      top_steps_(make, "encoder.layer_norm", a.top_steps, a) {}

Tensor Encoder::operator()(const Tensor& embedded, const TokenRows& rows, Pass& pass) const {
  const Tensor input = embedding_steps_(embedded, {}, rows, pass);
  return top_steps_(run(input, rows, layers_.size(), pass), input, rows, pass);
}

Tensor Encoder::run(Tensor x, const TokenRows& rows, size_t layers, Pass& pass) const {
  const auto pattern = everything(rows);
  for (size_t i = 0; i < layers; ++i) {
    Pass::Scope scope(pass, fmt::format("encoder.layers.{}", i));
    x = layers_[i](x, rows, pattern, pass);
  }
  return x;
}

Tensor Encoder::attention_weights(const Tensor& embedded, const TokenRows& rows, int layer, Pass& pass) const {
  const size_t index = static_cast<size_t>(layer);
  const Tensor input = embedding_steps_(embedded, {}, rows, pass);
  return layers_.at(index).attention_weights(run(input, rows, index, pass), rows, everything(rows), pass);
}

}  // namespace sixfold
