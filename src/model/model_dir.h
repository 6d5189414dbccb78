#pragma once
#include <memory>
#include <string>
#include <vector>

#include "model/transformer.h"

namespace sixfold {

/// Writes config.json and model.safetensors into `folder`, which is there (the caller adds the tokenizers and
/// makes the folder whole at once: `AtomicDirectory`).
void save_model(const Transformer& model, const std::string& folder);

/// Reads the config.json of a model folder. Throws an input error for a folder that is none.
ModelConfig load_model_config(const std::string& folder);

/// Reads a model folder. Throws an input error that names what is missing, extra, of the wrong shape or not
/// finite.
std::unique_ptr<Transformer> load_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                        DType dtype = DType::f32);

/// Copies the tensors of a safetensors file into the model's weights: each must be there, of the right shape,
/// finite, and none besides.
void load_weights(const std::string& path, const Transformer& model);

/// The same for any named tensors, such as an optimizer's: to a safetensors file in fp32 and back.
void write_parameters(const std::string& path, const std::vector<Parameter>& parameters, Backend& backend);
void read_parameters(const std::string& path, const std::vector<Parameter>& parameters, Backend& backend);

/// Makes the folder `output`, or replaces it, with the mean of the weights of several model folders of one
/// architecture and vocabulary, and the config and tokenizers of the first (section 6.1; also `sixfold
/// average`). Throws an input error for models that are not alike.
void average_models(const std::vector<std::string>& folders, const std::string& output);

}  // namespace sixfold
