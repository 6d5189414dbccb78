#pragma once
#include "model/transformer.h"
#include "text/tokenizers.h"
#include "train/config.h"

namespace sixfold {

/// The sizes and tokenizers of the run's model: where it goes on from a model folder, that one's but for
/// dropout.
ModelConfig model_config(const TrainOptions& options, const std::string& from, const Tokenizers& tokenizers);

/// The weights that are trained. To the others, which are frozen, no gradients flow from now on.
std::vector<Parameter> trained_parameters(Transformer& model, const std::vector<ModelPart>& frozen);

}  // namespace sixfold
