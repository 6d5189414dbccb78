#include "model/attention_weights.h"

#include "base/error.h"

namespace sixfold {
namespace {

/// Stores the weights of one layer. The layers after it run only if `all_layers` is set.
class OneLayerObserver final : public AttentionObserver {
 public:
  OneLayerObserver(AttentionKind kind, int layer, bool all_layers)
      : kind_(kind), layer_(layer), all_layers_(all_layers) {}
  bool wants(AttentionKind kind, int layer) const override { return kind == kind_ && layer == layer_; }
  void observe_attention(AttentionKind, int, const ops::AttentionInputs& inputs,
                         const ops::AttentionPattern& pattern, Context& context) override {
    weights_ = ops::attention_weights(context, inputs, pattern);
  }
  bool done() const override { return has_weights() && !all_layers_; }
  bool has_weights() const { return static_cast<bool>(weights_); }
  const Tensor& weights() const { return weights_; }

 private:
  AttentionKind kind_;
  int layer_;
  bool all_layers_;
  Tensor weights_;
};

/// Stores the weights of all layers.
class AllLayersObserver final : public AttentionObserver {
 public:
  struct ObservedLayer {
    AttentionKind kind;
    int layer;
    Tensor weights;
  };
  bool wants(AttentionKind, int) const override { return true; }
  void observe_attention(AttentionKind kind, int layer, const ops::AttentionInputs& inputs,
                         const ops::AttentionPattern& pattern, Context& context) override {
    observed_.push_back({kind, layer, ops::attention_weights(context, inputs, pattern)});
  }
  const std::vector<ObservedLayer>& observed() const { return observed_; }

 private:
  std::vector<ObservedLayer> observed_;
};

/// Divides the weights of a layer by sample: [heads, target, source] for each.
std::vector<std::vector<float>> weights_by_sample(const Tensor& weights, AttentionKind kind, const Batch& batch,
                                                  Context& context) {
  const Ragged& queries = kind == AttentionKind::encoder ? batch.source.rows : batch.target.rows;
  const Ragged& keys = kind == AttentionKind::decoder ? batch.target.rows : batch.source.rows;
  const auto all = weights.to_floats(context.backend());
  const int64_t heads = queries.tokens() > 0 ? weights.rows() / queries.tokens() : 0;
  std::vector<std::vector<float>> result;
  for (int i = 0; i < queries.sequences(); ++i) {
    auto& sample = result.emplace_back();
    for (int64_t head = 0; head < heads; ++head)
      for (int q = queries.begin(i); q < queries.begin(i + 1); ++q) {
        const auto row = all.begin() + (head * queries.tokens() + q) * weights.cols();
        sample.insert(sample.end(), row, row + keys.length(i));
      }
  }
  return result;
}

}  // namespace

std::vector<std::vector<float>> attention_weights(const Transformer& model, const Batch& batch,
                                                  AttentionKind kind, int layer, Context& context,
                                                  Tensor* states) {
  const ModelConfig& config = model.config();
  int layers = kind == AttentionKind::encoder ? config.encoder_layers : config.decoder_layers;
  if (kind == AttentionKind::cross && !config.has_encoder()) layers = 0;
  require(layers > 0, "attention: the model has no {} attention", name_of_enum(kind));
  require(layer >= 0 && layer < layers, "attention of layer {}: the model has layers 0 to {}", layer,
          layers - 1);
  OneLayerObserver observer(kind, layer, states != nullptr);
  const Tensor output = model.states(batch, context, &observer);
  if (states) *states = output;
  const MixerKind mixer = kind == AttentionKind::encoder ? config.encoder_mixer : config.decoder_mixer;
  require(observer.has_weights(), "attention: the model has no {0} attention: its {0}_mixer is '{1}'",
          name_of_enum(kind), name_of_enum(mixer));
  return weights_by_sample(observer.weights(), kind, batch, context);
}

std::vector<LayerAttention> all_attention_weights(const Transformer& model, const Batch& batch,
                                                  Context& context) {
  AllLayersObserver observer;
  model.states(batch, context, &observer);
  std::vector<LayerAttention> all;
  for (const AllLayersObserver::ObservedLayer& observed : observer.observed())
    all.push_back(
        {observed.kind, observed.layer, weights_by_sample(observed.weights, observed.kind, batch, context)});
  return all;
}

}  // namespace sixfold
