#pragma once
#include "model/transformer.h"
#include "text/tokenizers.h"
#include "train/config.h"

namespace sixfold {

/// The sizes and tokenizers of the run's model: of the model to start with where there is one, but for dropout.
ModelConfig model_config(const TrainOptions& options, const Tokenizers& tokenizers);

/// The weights that are trained. To the others, which are frozen, no gradients flow from now on.
std::vector<Parameter> trained_parameters(const Transformer& model, const std::vector<Frozen>& frozen);

}  // namespace sixfold
