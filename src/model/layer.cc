#include "model/layer.h"

#include <fmt/format.h>

namespace sixfold {
namespace {

std::string layer_name(int index) { return fmt::format("layers.{}", index); }

std::vector<TransformerLayer> make_layers(const ParameterBuilder& make, const Architecture& a, int count,
                                          bool cross_attention) {
  std::vector<TransformerLayer> layers;
  for (int i = 0; i < count; ++i) layers.emplace_back(make.in(layer_name(i)), a, cross_attention);
  return layers;
}

}  // namespace

TransformerLayer::TransformerLayer(ParameterBuilder make, const Architecture& a, bool cross_attention)
    : self_attention_(make, a),
      self_residual_(make, "self_attn_layer_norm", a),
      cross_(cross_attention ? std::optional(CrossSublayer{CrossAttention(make, a),
                                                           Residual(make, "encoder_attn_layer_norm", a)})
                             : std::nullopt),
      feed_forward_(make, a),
      feed_forward_residual_(make, "final_layer_norm", a) {}

Tensor TransformerLayer::operator()(Tensor x, LayerContext& c) const {
  x = self_residual_.add(x, self_attention_(self_residual_.input(x, c), c), c);
  if (cross_) x = cross_->residual.add(x, cross_->attention(cross_->residual.input(x, c), c), c);
  return feed_forward_residual_.add(x, feed_forward_(feed_forward_residual_.input(x, c), c), c);
}

KeyValues TransformerLayer::project_memory(const Tensor& encoder_output, Context& context) const {
  return cross_->attention.project_memory(encoder_output, context);
}

Stack::Stack(ParameterBuilder make, const std::string& name, const Architecture& a, int layers,
             bool cross_attention)
    : name_(name),
      postprocess_embedding_(make.in(name).in("layernorm_embedding"), process_after_embedding(a), a),
      layers_(make_layers(make.in(name), a, layers, cross_attention)),
      postprocess_top_(make.in(name).in("layer_norm"), a.postprocess_top, a) {}

Tensor Stack::operator()(const Tensor& embedded, LayerContext& c) const {
  const Tensor first = postprocess_embedding_(embedded, {}, c);
  Tensor x = first;
  for (c.layer = 0; c.layer < layers(); ++c.layer) {
    if (c.observer && c.observer->done()) return x;
    Context::Scope scope(c.context, name_ + "." + layer_name(c.layer));
    x = layers_[static_cast<size_t>(c.layer)](x, c);
  }
  return postprocess_top_(x, first, c);
}

std::vector<KeyValues> Stack::project_memory(const Tensor& encoder_output,
                                             const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                             Context& context) const {
  std::vector<KeyValues> memory;
  for (int i = 0; i < layers(); ++i) {
    Context::Scope scope(context, name_ + "." + layer_name(i));
    KeyValues projected = layers_[static_cast<size_t>(i)].project_memory(encoder_output, context);
    projected.pattern = pattern;
    memory.push_back(std::move(projected));
  }
  return memory;
}

}  // namespace sixfold
