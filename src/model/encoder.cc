#include "model/encoder.h"

#include <fmt/format.h>

namespace sixfold {
namespace {

std::shared_ptr<const ops::AttentionPattern> everything(const TokenRows& rows) {
  return std::make_shared<ops::AttentionPattern>(
      ops::attention_pattern(rows.ragged, rows.ragged, /*causal=*/false));
}

std::vector<EncoderLayer> make_layers(ParameterBuilder& make, const Architecture& a) {
  std::vector<EncoderLayer> layers;
  for (int i = 0; i < a.encoder_layers; ++i) {
    ParameterBuilder::Prefix prefix(make, fmt::format("encoder.layers.{}", i));
    layers.emplace_back(make, a);
  }
  return layers;
}

}  // namespace

EncoderLayer::EncoderLayer(ParameterBuilder& make, const Architecture& a)
    : self_attention_(make, "self_attn", a),
      self_connection_(make, "self_attn_layer_norm", a),
      feed_forward_(make, a),
      feed_forward_connection_(make, "final_layer_norm", a) {}

Tensor EncoderLayer::operator()(const Tensor& x, const TokenRows& rows,
                                const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                Context& context) const {
  const Tensor y = self_connection_(x, rows, context, [&](const Tensor& tokens) {
    return self_attention_(tokens, self_attention_.keys_values(tokens, pattern, context), rows, context);
  });
  return feed_forward_connection_(y, rows, context,
                                  [&](const Tensor& tokens) { return feed_forward_(tokens, rows, context); });
}

Tensor EncoderLayer::attention_weights(const Tensor& x, const TokenRows& rows,
                                       const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                       Context& context) const {
  const Tensor tokens = self_connection_.input(x, rows, context);
  return self_attention_.weights(tokens, self_attention_.keys_values(tokens, pattern, context), context);
}

Encoder::Encoder(ParameterBuilder& make, const Architecture& a)
    : postprocess_embedding_(make, "encoder.layernorm_embedding", process_after_embedding(a), a),
      layers_(make_layers(make, a)),
      postprocess_top_(make, "encoder.layer_norm", a.postprocess_top, a) {}

Tensor Encoder::operator()(const Tensor& embedded, const TokenRows& rows, Context& context) const {
  const Tensor input = postprocess_embedding_(embedded, {}, rows, context);
  return postprocess_top_(run(input, rows, layers_.size(), context), input, rows, context);
}

Tensor Encoder::run(Tensor x, const TokenRows& rows, size_t layers, Context& context) const {
  const auto pattern = everything(rows);
  for (size_t i = 0; i < layers; ++i) {
    Context::Scope scope(context, fmt::format("encoder.layers.{}", i));
    x = layers_[i](x, rows, pattern, context);
  }
  return x;
}

Tensor Encoder::attention_weights(const Tensor& embedded, const TokenRows& rows, int layer,
                                  Context& context) const {
  const size_t index = static_cast<size_t>(layer);
  const Tensor input = postprocess_embedding_(embedded, {}, rows, context);
  return layers_.at(index).attention_weights(run(input, rows, index, context), rows, everything(rows), context);
}

}  // namespace sixfold
