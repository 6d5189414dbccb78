#include "model/encoder.h"

#include <fmt/format.h>

namespace sixfold {
namespace {

std::shared_ptr<const ops::AttentionPattern> everything(const TokenRows& rows) {
  return std::make_shared<ops::AttentionPattern>(
      ops::attention_pattern(rows.ragged, rows.ragged, /*causal=*/false));
}

}  // namespace

EncoderLayer::EncoderLayer(ParameterMaker& make, const Architecture& a)
    : self_attention_(make, "self_attn", a),
      self_norm_(make, "self_attn_layer_norm", a),
      feed_forward_(make, a),
      feed_forward_norm_(make, "final_layer_norm", a),
      dropout_(a.dropout) {}

Tensor EncoderLayer::operator()(const Tensor& x, const TokenRows& rows,
                                const std::shared_ptr<const ops::AttentionPattern>& pattern, Pass& pass) const {
  const auto dropped = [&](Tensor y) { return Dropped{std::move(y), pass.dropout(dropout_, rows)}; };
  const KeysValues source = self_attention_.keys_values(x, pattern, pass);
  const Tensor y = self_norm_(x, dropped(self_attention_(x, source, rows, pass)), pass);
  return feed_forward_norm_(y, dropped(feed_forward_(y, rows, pass)), pass);
}

Tensor EncoderLayer::attention_weights(const Tensor& x,
                                       const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                       Pass& pass) const {
  return self_attention_.weights(x, self_attention_.keys_values(x, pattern, pass), pass);
}

Encoder::Encoder(ParameterMaker& make, const Architecture& a) {
  for (int i = 0; i < a.encoder_layers; ++i) {
    ParameterMaker::Prefix prefix(make, fmt::format("encoder.layers.{}", i));
    layers_.emplace_back(make, a);
  }
}

Tensor Encoder::operator()(const Tensor& embedded, const TokenRows& rows, Pass& pass) const {
  return run(embedded, rows, layers_.size(), pass);
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
  return layers_.at(index).attention_weights(run(embedded, rows, index, pass), everything(rows), pass);
}

}  // namespace sixfold
