#pragma once
#include "model/heads/head.h"

namespace sixfold {

/// Predicts where the answer to a question starts and ends: two logits for each token (Devlin et al. 2019,
/// section 4.2).
class SpanHead final : public Head {
 public:
  SpanHead(const ParameterBuilder& builder, const ModelConfig& config);

  Tensor loss(const Tensor& states, const Batch& batch, const ops::LossOptions& options,
              Context& context) const override;
};

}  // namespace sixfold
