#pragma once
#include "model/heads/head.h"
#include "model/layers/pooling.h"

namespace sixfold {

/// Predicts a label for each sequence: pools its states, and projects the pooled state to the labels.
class ClassHead final : public Head {
 public:
  ClassHead(const ParameterBuilder& builder, const ModelConfig& config);

  /// states [source tokens, d_model] -> [sequences, d_model].
  Tensor input(const Tensor& states, const Batch& batch, Context& context) const override;

 private:
  SequencePooling pooling_;
  float dropout_;
};

}  // namespace sixfold
