#pragma once
#include <filesystem>

#include "formats/tensor_map.h"

namespace sixfold {

/// Reads the weights of a folder of Hugging Face: model.safetensors, its shards, or pytorch_model.bin. Throws
/// an input error if there are none, or as the readers of these files.
TensorMap read_tensors(const std::filesystem::path& folder);

}  // namespace sixfold
