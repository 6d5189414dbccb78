#include "model/decoder.h"

#include <fmt/format.h>

namespace sixfold {

namespace {

std::vector<DecoderLayer> make_layers(ParameterMaker& make, const Architecture& a) {
  std::vector<DecoderLayer> layers;
  for (int i = 0; i < a.decoder_layers; ++i) {
    ParameterMaker::Prefix prefix(make, fmt::format("decoder.layers.{}", i));
    layers.emplace_back(make, a, i);
  }
  return layers;
}

}  // namespace

DecoderLayer::DecoderLayer(ParameterMaker& make, const Architecture& a, int index)
    : index_(index),
      self_attention_(make, "self_attn", a),
      self_connection_(make, "self_attn_layer_norm", a),
      cross_attention_(make, "encoder_attn", a),
      cross_connection_(make, "encoder_attn_layer_norm", a),
      feed_forward_(make, a),
      feed_forward_connection_(make, "final_layer_norm", a) {}

Tensor DecoderLayer::operator()(const Tensor& x, const DecoderInput& input, Pass& pass) const {
  const KeysValues& memory = input.memory[static_cast<size_t>(index_)];
  Tensor y = attend_to_history(x, input, pass);
  y = cross_connection_(y, input.rows, pass, [&](const Tensor& tokens) {
    return cross_attention_(tokens, memory, input.rows, pass);
  });
  return feed_forward_connection_(
      y, input.rows, pass, [&](const Tensor& tokens) { return feed_forward_(tokens, input.rows, pass); });
}

Tensor DecoderLayer::attend_to_history(const Tensor& x, const DecoderInput& input, Pass& pass) const {
  return self_connection_(x, input.rows, pass, [&](const Tensor& tokens) {
    const KeysValues target = input.history.extend(index_, self_attention_.keys_values(tokens, nullptr, pass));
    return self_attention_(tokens, target, input.rows, pass);
  });
}

KeysValues DecoderLayer::project_memory(const Tensor& encoder_output,
                                        std::shared_ptr<const ops::AttentionPattern> pattern,
                                        Pass& pass) const {
  return cross_attention_.keys_values(encoder_output, std::move(pattern), pass);
}

Tensor DecoderLayer::self_attention_weights(const Tensor& x, const DecoderInput& input, Pass& pass) const {
  const Tensor tokens = self_connection_.input(x, input.rows, pass);
  return self_attention_.weights(
      tokens, input.history.extend(index_, self_attention_.keys_values(tokens, nullptr, pass)), pass);
}

Tensor DecoderLayer::cross_attention_weights(const Tensor& x, const DecoderInput& input, Pass& pass) const {
  const Tensor tokens = cross_connection_.input(attend_to_history(x, input, pass), input.rows, pass);
  return cross_attention_.weights(tokens, input.memory[static_cast<size_t>(index_)], pass);
}

Decoder::Decoder(ParameterMaker& make, const Architecture& a)
    : embedding_steps_(make, "decoder.layernorm_embedding", steps_after_embedding(a), a),
      layers_(make_layers(make, a)),
      top_steps_(make, "decoder.layer_norm", a.top_steps, a) {}

std::vector<KeysValues> Decoder::project_memory(const Tensor& encoder_output,
                                                const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                                Pass& pass) const {
  std::vector<KeysValues> memory;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Pass::Scope scope(pass, fmt::format("decoder.layers.{}", i));
    memory.push_back(layers_[i].project_memory(encoder_output, pattern, pass));
  }
  return memory;
}

Tensor Decoder::operator()(const Tensor& embedded, const DecoderInput& input, Pass& pass) const {
  const Tensor x = embedding_steps_(embedded, {}, input.rows, pass);
  return top_steps_(run(x, input, layers(), pass), x, input.rows, pass);
}

Tensor Decoder::run(Tensor x, const DecoderInput& input, int layers, Pass& pass) const {
  for (int i = 0; i < layers; ++i) {
    Pass::Scope scope(pass, fmt::format("decoder.layers.{}", i));
    x = layers_[static_cast<size_t>(i)](x, input, pass);
  }
  return x;
}

Tensor Decoder::self_attention_weights(const Tensor& embedded, const DecoderInput& input, int layer,
                                       Pass& pass) const {
  const Tensor x = embedding_steps_(embedded, {}, input.rows, pass);
  return layers_.at(static_cast<size_t>(layer)).self_attention_weights(run(x, input, layer, pass), input, pass);
}

Tensor Decoder::cross_attention_weights(const Tensor& embedded, const DecoderInput& input, int layer,
                                        Pass& pass) const {
  const Tensor x = embedding_steps_(embedded, {}, input.rows, pass);
  return layers_.at(static_cast<size_t>(layer))
      .cross_attention_weights(run(x, input, layer, pass), input, pass);
}

}  // namespace sixfold
