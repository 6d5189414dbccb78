#include "model/decoder.h"

#include <fmt/format.h>

namespace sixfold {

DecoderLayer::DecoderLayer(ParameterMaker& make, const Architecture& a, int index)
    : index_(index),
      self_attention_(make, "self_attn", a),
      self_norm_(make, "self_attn_layer_norm", a),
      cross_attention_(make, "encoder_attn", a),
      cross_norm_(make, "encoder_attn_layer_norm", a),
      feed_forward_(make, a),
      feed_forward_norm_(make, "final_layer_norm", a),
      dropout_(a.dropout) {}

Tensor DecoderLayer::operator()(const Tensor& x, const DecoderInput& input, Pass& pass) const {
  const auto dropped = [&](Tensor y) { return Dropped{std::move(y), pass.dropout(dropout_, input.rows)}; };
  const KeysValues& memory = input.memory[static_cast<size_t>(index_)];
  Tensor y = attend_to_history(x, input, pass);
  y = cross_norm_(y, dropped(cross_attention_(y, memory, input.rows, pass)), pass);
  return feed_forward_norm_(y, dropped(feed_forward_(y, input.rows, pass)), pass);
}

Tensor DecoderLayer::attend_to_history(const Tensor& x, const DecoderInput& input, Pass& pass) const {
  const KeysValues target = input.history.extend(index_, self_attention_.keys_values(x, nullptr, pass));
  Dropped y{self_attention_(x, target, input.rows, pass), pass.dropout(dropout_, input.rows)};
  return self_norm_(x, std::move(y), pass);
}

KeysValues DecoderLayer::project_memory(const Tensor& encoder_output,
                                        std::shared_ptr<const ops::AttentionPattern> pattern,
                                        Pass& pass) const {
  return cross_attention_.keys_values(encoder_output, std::move(pattern), pass);
}

Tensor DecoderLayer::self_attention_weights(const Tensor& x, const DecoderInput& input, Pass& pass) const {
  return self_attention_.weights(x, input.history.extend(index_, self_attention_.keys_values(x, nullptr, pass)),
                                 pass);
}

Tensor DecoderLayer::cross_attention_weights(const Tensor& x, const DecoderInput& input, Pass& pass) const {
  return cross_attention_.weights(attend_to_history(x, input, pass), input.memory[static_cast<size_t>(index_)],
                                  pass);
}

Decoder::Decoder(ParameterMaker& make, const Architecture& a) {
  for (int i = 0; i < a.decoder_layers; ++i) {
    ParameterMaker::Prefix prefix(make, fmt::format("decoder.layers.{}", i));
    layers_.emplace_back(make, a, i);
  }
}

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
  return run(embedded, input, layers(), pass);
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
  return layers_.at(static_cast<size_t>(layer))
      .self_attention_weights(run(embedded, input, layer, pass), input, pass);
}

Tensor Decoder::cross_attention_weights(const Tensor& embedded, const DecoderInput& input, int layer,
                                        Pass& pass) const {
  return layers_.at(static_cast<size_t>(layer))
      .cross_attention_weights(run(embedded, input, layer, pass), input, pass);
}

}  // namespace sixfold
