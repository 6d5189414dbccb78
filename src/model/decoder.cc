#include "model/decoder.h"

#include <fmt/format.h>

namespace sixfold {

namespace {

std::vector<DecoderLayer> make_layers(ParameterBuilder& make, const Architecture& a) {
  std::vector<DecoderLayer> layers;
  for (int i = 0; i < a.decoder_layers; ++i) {
    ParameterBuilder::Prefix prefix(make, fmt::format("decoder.layers.{}", i));
    layers.emplace_back(make, a, i);
  }
  return layers;
}

}  // namespace

DecoderLayer::DecoderLayer(ParameterBuilder& make, const Architecture& a, int index)
    : index_(index),
      self_attention_(make, "self_attn", a),
      self_connection_(make, "self_attn_layer_norm", a),
      cross_attention_(make, "encoder_attn", a),
      cross_connection_(make, "encoder_attn_layer_norm", a),
      feed_forward_(make, a),
      feed_forward_connection_(make, "final_layer_norm", a) {}

Tensor DecoderLayer::operator()(const Tensor& x, const DecoderInput& input, Context& context) const {
  const KeyValues& memory = input.memory[static_cast<size_t>(index_)];
  Tensor y = attend_to_history(x, input, context);
  y = cross_connection_(y, input.rows, context, [&](const Tensor& tokens) {
    return cross_attention_(tokens, memory, input.rows, context);
  });
  return feed_forward_connection_(
      y, input.rows, context, [&](const Tensor& tokens) { return feed_forward_(tokens, input.rows, context); });
}

Tensor DecoderLayer::attend_to_history(const Tensor& x, const DecoderInput& input, Context& context) const {
  return self_connection_(x, input.rows, context, [&](const Tensor& tokens) {
    const KeyValues target =
        input.history.extend(index_, self_attention_.keys_values(tokens, nullptr, context));
    return self_attention_(tokens, target, input.rows, context);
  });
}

KeyValues DecoderLayer::project_memory(const Tensor& encoder_output,
                                       std::shared_ptr<const ops::AttentionPattern> pattern,
                                       Context& context) const {
  return cross_attention_.keys_values(encoder_output, std::move(pattern), context);
}

Tensor DecoderLayer::self_attention_weights(const Tensor& x, const DecoderInput& input,
                                            Context& context) const {
  const Tensor tokens = self_connection_.input(x, input.rows, context);
  return self_attention_.weights(
      tokens, input.history.extend(index_, self_attention_.keys_values(tokens, nullptr, context)), context);
}

Tensor DecoderLayer::cross_attention_weights(const Tensor& x, const DecoderInput& input,
                                             Context& context) const {
  const Tensor tokens = cross_connection_.input(attend_to_history(x, input, context), input.rows, context);
  return cross_attention_.weights(tokens, input.memory[static_cast<size_t>(index_)], context);
}

Decoder::Decoder(ParameterBuilder& make, const Architecture& a)
    : postprocess_embedding_(make, "decoder.layernorm_embedding", process_after_embedding(a), a),
      layers_(make_layers(make, a)),
      postprocess_top_(make, "decoder.layer_norm", a.postprocess_top, a) {}

std::vector<KeyValues> Decoder::project_memory(const Tensor& encoder_output,
                                               const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                               Context& context) const {
  std::vector<KeyValues> memory;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Context::Scope scope(context, fmt::format("decoder.layers.{}", i));
    memory.push_back(layers_[i].project_memory(encoder_output, pattern, context));
  }
  return memory;
}

Tensor Decoder::operator()(const Tensor& embedded, const DecoderInput& input, Context& context) const {
  const Tensor x = postprocess_embedding_(embedded, {}, input.rows, context);
  return postprocess_top_(run(x, input, layers(), context), x, input.rows, context);
}

Tensor Decoder::run(Tensor x, const DecoderInput& input, int layers, Context& context) const {
  for (int i = 0; i < layers; ++i) {
    Context::Scope scope(context, fmt::format("decoder.layers.{}", i));
    x = layers_[static_cast<size_t>(i)](x, input, context);
  }
  return x;
}

Tensor Decoder::self_attention_weights(const Tensor& embedded, const DecoderInput& input, int layer,
                                       Context& context) const {
  const Tensor x = postprocess_embedding_(embedded, {}, input.rows, context);
  return layers_.at(static_cast<size_t>(layer))
      .self_attention_weights(run(x, input, layer, context), input, context);
}

Tensor Decoder::cross_attention_weights(const Tensor& embedded, const DecoderInput& input, int layer,
                                        Context& context) const {
  const Tensor x = postprocess_embedding_(embedded, {}, input.rows, context);
  return layers_.at(static_cast<size_t>(layer))
      .cross_attention_weights(run(x, input, layer, context), input, context);
}

}  // namespace sixfold
