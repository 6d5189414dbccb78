#include "model/head.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/layers/linear.h"
#include "model/layers/pooling.h"

namespace sixfold {

Tensor Head::input(const Tensor& states, const Batch& batch, Context& context) const {
  if (batch.label_rows.empty()) return states;
  std::vector<int32_t> inverse(static_cast<size_t>(states.rows()), -1);
  for (size_t label = 0; label < batch.label_rows.size(); ++label)
    inverse[static_cast<size_t>(batch.label_rows[label])] = static_cast<int32_t>(label);
  return ops::gather_rows(context, states, context.indices(batch.label_rows), context.indices(inverse));
}

Tensor Head::loss(const Tensor& states, const Batch& batch, const ops::LossOptions& options,
                  Context& context) const {
  for (const int32_t label : batch.labels)
    require(label >= 0 && label < choices_, "label id {} is not one of the {} that the model predicts", label,
            choices_);
  ops::LossOptions weighted = options;
  if (!batch.label_weights.empty()) weighted.weights = context.numbers(batch.label_weights);
  if (options.second) weighted.second = input(options.second, batch, context);
  return ops::cross_entropy(context, input(states, batch, context), output_, context.indices(batch.labels),
                            weighted);
}

namespace {

/// The dense layer of a head: a linear map [d_model, d_model], an activation and a norm, such as BERT's pooler
/// and the transform before its output (Devlin et al. 2019). Without `head.dense` it returns its input.
class DenseTransform {
 public:
  DenseTransform(ParameterBuilder make, const ModelConfig& c) : activation_(c.head.activation) {
    if (!c.head.dense) return;
    dense_.emplace(make.in("dense"), c.d_model, c.d_model);
    if (!c.head.norm) return;
    ParameterBuilder norm = make.in("layer_norm");
    norm_ = ops::NormWeights{.weight = norm.vector("weight", c.d_model, Initial::ones),
                             .bias = norm.vector("bias", c.d_model, Initial::zeros),
                             .epsilon = c.norm_epsilon};
  }

  Tensor operator()(Tensor x, Context& context) const {
    if (dense_) x = ops::activate(context, (*dense_)(x, context), activation_);
    return norm_ ? ops::norm(context, x, *norm_) : x;
  }

 private:
  std::optional<Linear> dense_;
  Activation activation_;
  std::optional<ops::NormWeights> norm_;
};

/// Predicts a token for each row (section 3.4).
class VocabularyHead final : public Head {
 public:
  VocabularyHead(const ParameterBuilder& builder, const ModelConfig& config, const Tensor& embedding)
      : Head(projection(builder.in("output_projection"), config, embedding), config.target_vocab),
        transform_(builder.of(ModelPart::head).in("head"), config) {}

  Tensor input(const Tensor& states, const Batch& batch, Context& context) const override {
    return transform_(Head::input(states, batch, context), context);
  }

 private:
  static ops::OutputWeights projection(ParameterBuilder builder, const ModelConfig& c,
                                       const Tensor& embedding) {
    const Tensor weight = c.shares_output()
                              ? embedding
                              : builder.table("weight", c.target_vocab, c.d_model, ParameterUse::product);
    return {weight, c.output_bias ? builder.vector("bias", c.target_vocab, Initial::zeros) : Tensor()};
  }

  DenseTransform transform_;
};

/// Pools the states of each sequence.
class PoolingHead : public Head {
 public:
  /// states [source tokens, d_model] -> [sequences, d_model].
  Tensor input(const Tensor& states, const Batch& batch, Context& context) const override {
    const TokenRows rows = context.token_rows(batch.source.rows, batch.samples);
    return transform_(pooling_(states, rows, context), context);
  }

 protected:
  PoolingHead(const ParameterBuilder& builder, const ModelConfig& config, ops::OutputWeights output,
              int choices)
      : Head(std::move(output), choices),
        pooling_(builder.of(ModelPart::head).in("pooling"), config.head.pooling, config.d_model),
        transform_(builder.of(ModelPart::head).in("head"), config) {}

 private:
  SequencePooling pooling_;
  DenseTransform transform_;
};

/// Predicts a vector for each sequence: its pooled state.
class EmbeddingHead final : public PoolingHead {
 public:
  EmbeddingHead(const ParameterBuilder& builder, const ModelConfig& config)
      : PoolingHead(builder, config, {}, /*choices=*/0) {}

  Tensor loss(const Tensor&, const Batch&, const ops::LossOptions&, Context&) const override {
    throw_input_error(
        "a model that predicts embeddings has no loss of its own; train a model that starts from it");
  }
};

/// Predicts a label for each sequence: pools its states, and projects the pooled state to the labels.
class ClassHead final : public PoolingHead {
 public:
  ClassHead(const ParameterBuilder& builder, const ModelConfig& config)
      : PoolingHead(builder, config, projection(builder.of(ModelPart::head).in("classifier"), config),
                    config.head.classes),
        dropout_(config.dropout) {}

  Tensor input(const Tensor& states, const Batch& batch, Context& context) const override {
    const Tensor pooled = PoolingHead::input(states, batch, context);
    Ragged single;
    for (int64_t i = 0; i < pooled.rows(); ++i) single.add(1);
    const TokenRows pooled_rows = context.token_rows(single, batch.samples);
    return ops::dropout(context, {pooled, context.dropout(dropout_, pooled_rows)});
  }

 private:
  static ops::OutputWeights projection(ParameterBuilder builder, const ModelConfig& c) {
    const auto weight = builder.matrix("weight", c.head.classes, c.d_model);
    return {weight, builder.vector("bias", c.head.classes, Initial::zeros)};
  }

  float dropout_;
};

/// Predicts where the answer to a question starts and ends: two logits for each token (Devlin et al. 2019,
/// section 4.2).
class SpanHead final : public Head {
 public:
  // A bias would have no effect, since it is the same for all rows over which the softmax is computed.
  SpanHead(const ParameterBuilder& builder, const ModelConfig& config)
      : Head({builder.of(ModelPart::head).in("qa_outputs").matrix("weight", start_and_end, config.d_model), {}},
             start_and_end) {}

  Tensor loss(const Tensor& states, const Batch& batch, const ops::LossOptions& options,
              Context& context) const override {
    return ops::span_loss(context, states, output().weight, {batch.choices, context.indices(batch.labels)},
                          options);
  }

 private:
  static constexpr int start_and_end = 2;
};

}  // namespace

std::unique_ptr<const Head> make_head(const ParameterBuilder& builder, const ModelConfig& config,
                                      const Tensor& embedding) {
  switch (config.head.kind) {
    case OutputHead::vocabulary:
      return std::make_unique<VocabularyHead>(builder, config, embedding);
    case OutputHead::classes:
      return std::make_unique<ClassHead>(builder, config);
    case OutputHead::span:
      return std::make_unique<SpanHead>(builder, config);
    case OutputHead::embedding:
      return std::make_unique<EmbeddingHead>(builder, config);
  }
  throw_unknown("head", config.head.kind);
}

int64_t label_choices(const ModelConfig& config) {
  switch (config.head.kind) {
    case OutputHead::vocabulary:
      return config.target_vocab;
    case OutputHead::classes:
      return config.head.classes;
    case OutputHead::span:
      return config.context_tokens;
    case OutputHead::embedding:
      return 0;
  }
  throw_unknown("head", config.head.kind);
}

}  // namespace sixfold
