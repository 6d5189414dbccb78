#pragma once
#include "model/heads/head.h"

namespace sixfold {

/// Predicts a token for each row (section 3.4).
class VocabularyHead final : public Head {
 public:
  VocabularyHead(const ParameterBuilder& builder, const ModelConfig& config, const Tensor& embedding);
};

}  // namespace sixfold
