#include "model/layer.h"

#include <fmt/format.h>

namespace sixfold {
namespace {

std::string layer_name(int index) { return fmt::format("layers.{}", index); }

std::vector<std::string> layer_scopes(const std::string& stack, int count) {
  std::vector<std::string> scopes;
  for (int i = 0; i < count; ++i) scopes.push_back(stack + "." + layer_name(i));
  return scopes;
}

std::vector<TransformerLayer> make_layers(const ParameterBuilder& make, AttentionKind stack,
                                          const Architecture& a, int count, bool cross_attention,
                                          const MixerFactory& mixer) {
  std::vector<TransformerLayer> layers;
  for (int i = 0; i < count; ++i) {
    const ParameterBuilder place = make.in(layer_name(i));
    layers.emplace_back(place, a, mixer(place, a, {stack, i}), cross_attention);
  }
  return layers;
}

int layer_count(const Architecture& a, AttentionKind stack) {
  return stack == AttentionKind::encoder ? a.encoder_layers : a.decoder_layers;
}

}  // namespace

TransformerLayer::TransformerLayer(ParameterBuilder make, const Architecture& a,
                                   std::unique_ptr<const Mixer> mixer, bool cross_attention)
    : mixer_(std::move(mixer)),
      mixer_residual_(make, "self_attn_layer_norm", a),
      cross_(cross_attention && !mixer_->reads_memory()
                 ? std::optional(
                       CrossSublayer{CrossAttention(make, a), Residual(make, "encoder_attn_layer_norm", a)})
                 : std::nullopt),
      feed_forward_(make, a),
      feed_forward_residual_(make, "final_layer_norm", a),
      parallel_(a.parallel_residual) {}

Tensor TransformerLayer::operator()(Tensor x, LayerContext& c) const {
  const Tensor first = parallel_ ? x : Tensor();
  const auto input = [&](const Residual& residual) { return residual.input(parallel_ ? first : x, c); };
  x = mixer_residual_.add(x, (*mixer_)(input(mixer_residual_), c), c);
  if (cross_) x = cross_->residual.add(x, cross_->attention(input(cross_->residual), c), c);
  return feed_forward_residual_.add(x, feed_forward_(input(feed_forward_residual_), c), c);
}

KeyValues TransformerLayer::project_memory(const Tensor& encoder_output, Context& context) const {
  return cross_ ? cross_->attention.project_memory(encoder_output, context)
                : mixer_->project_memory(encoder_output, context);
}

Stack::Stack(ParameterBuilder make, AttentionKind kind, const Architecture& a, bool cross_attention,
             const MixerFactory& mixer)
    : kind_(kind),
      scopes_(layer_scopes(std::string(name_of_enum(kind)), layer_count(a, kind))),
      distance_bias_(std::make_unique<const DistanceBias>(make, a, kind)),
      postprocess_embedding_(make.in("layernorm_embedding"), process_after_embedding(a), a),
      layers_(make_layers(make, kind, a, layer_count(a, kind), cross_attention, mixer)),
      postprocess_top_(make.in("layer_norm"), a.postprocess_top, a) {}

std::vector<StateShape> Stack::state() const {
  std::vector<StateShape> shapes;
  for (const TransformerLayer& layer : layers_) shapes.push_back(layer.state());
  return shapes;
}

Tensor Stack::operator()(const Tensor& embedded, LayerContext& c) const {
  const Tensor first = postprocess_embedding_(embedded, {}, c);
  c.distance_bias = distance_bias_->for_length(c.rows.longest, c.context);
  Tensor x = first;
  for (c.layer = 0; c.layer < layers(); ++c.layer) {
    if (c.observer && c.observer->done()) return x;
    if (c.observer) c.observer->observe_states(c.kind, c.layer, x);
    const auto index = static_cast<size_t>(c.layer);
    if (drops_layer(index, c.context)) continue;
    Context::Scope scope(c.context, scopes_[index]);
    x = layers_[index](x, c);
  }
  if (c.observer) c.observer->observe_states(c.kind, layers(), x);
  if (x.same_as(first)) x = ops::scale(c.context, first, 1);  // `postprocess_top_` may overwrite it
  return postprocess_top_(x, first, c);
}

std::vector<KeyValues> Stack::project_memory(const Tensor& encoder_output,
                                             const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                             Context& context) const {
  std::vector<KeyValues> memory;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Context::Scope scope(context, scopes_[i]);
    KeyValues projected;
    if (!drops_layer(i, context)) projected = layers_[i].project_memory(encoder_output, context);
    projected.pattern = pattern;
    memory.push_back(std::move(projected));
  }
  return memory;
}

}  // namespace sixfold
