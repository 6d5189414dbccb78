#include "model/heads/head.h"

#include <vector>

#include "base/error.h"
#include "model/heads/class_head.h"
#include "model/heads/span_head.h"
#include "model/heads/vocabulary_head.h"

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
  return ops::cross_entropy(context, input(states, batch, context), output_, context.indices(batch.labels),
                            weighted);
}

std::unique_ptr<const Head> make_head(const ParameterBuilder& builder, const ModelConfig& config,
                                      const Tensor& embedding) {
  switch (config.head.kind) {
    case HeadKind::vocabulary:
      return std::make_unique<VocabularyHead>(builder, config, embedding);
    case HeadKind::classes:
      return std::make_unique<ClassHead>(builder, config);
    case HeadKind::span:
      return std::make_unique<SpanHead>(builder, config);
  }
  throw_unknown("head", config.head.kind);
}

int64_t label_choices(const ModelConfig& config) {
  switch (config.head.kind) {
    case HeadKind::vocabulary:
      return config.target_vocab;
    case HeadKind::classes:
      return config.head.classes;
    case HeadKind::span:
      return config.context_tokens;
  }
  throw_unknown("head", config.head.kind);
}

}  // namespace sixfold
