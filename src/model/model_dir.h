#pragma once
#include <memory>
#include <string>

#include "model/transformer.h"

namespace sixfold {

/// Writes config.json and model.safetensors into `folder`, which is there (the caller adds the tokenizers and
/// makes the folder whole at once: `AtomicDirectory`).
void save_model(const Transformer& model, const std::string& folder);

/// Reads a model folder. Throws an input error that names what is missing, extra, of the wrong shape or not
/// finite.
std::unique_ptr<Transformer> load_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                        DType dtype = DType::f32);

/// Copies the tensors of a safetensors file into the model's weights: each must be there, of the right shape,
/// finite, and none besides.
void load_weights(const std::string& path, const Transformer& model);

/// Writes into the folder `output` the mean of the weights of several model folders of one architecture and
/// vocabulary, with the rest of the first one (also `sixfold average`).
void average_models(const std::vector<std::string>& folders, const std::string& output);

}  // namespace sixfold
