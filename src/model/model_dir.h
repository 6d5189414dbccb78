#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "model/weight_type.h"

namespace sixfold {

/// Writes config.json and model.safetensors into `folder`, which is there (the caller adds the tokenizers and
/// makes the folder whole at once: `AtomicDirectory`).
void save_model(const Transformer& model, const std::string& folder);

/// Reads the config.json of a model folder. Throws an input error for a folder that is none.
ModelConfig load_model_config(const std::string& folder);

/// Opens a model folder for decoding and scoring. Weights stay in the mapped file where they can be used as
/// they are there, so they must not be written. Throws an input error that names what is missing, extra, of the
/// wrong shape or not finite, and for fp32 of a model in int8.
std::unique_ptr<Transformer> load_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                        DType dtype = DType::f32, WeightType type = WeightType::stored);

/// Whether a model folder holds weights in int8.
bool holds_int8(const std::string& folder);

/// Throws an input error where a file of tensors is missing or damaged.
void verify_parameters(const std::string& path);

/// Copies the tensors of a safetensors file into the model's weights: each must be there, of the right shape,
/// finite, and none besides.
void load_weights(const std::string& path, Transformer& model);

/// The same for any named tensors, such as an optimizer's: to a safetensors file in fp32 (int8 as it is, with
/// its scales in `NAME.scales`) and, but for int8, back.
void write_parameters(const std::string& path, std::span<const Parameter> parameters, Backend& backend);
void read_parameters(const std::string& path, std::span<Parameter> parameters, Backend& backend);

}  // namespace sixfold
