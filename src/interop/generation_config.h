#pragma once
#include <filesystem>

#include "model/generation_config.h"

namespace sixfold {

/// What the rules of search must know of the model.
struct GenerationModel {
  int eos = 0;            ///< id of the vocabulary's end token
  int target_tokens = 0;  ///< size of the vocabulary
};

/// What `generate` goes by.
struct ImportedGeneration {
  GenerationConfig generation;
  int decoder_start_token = -1;  ///< -1: an embedding of zeros (`ModelConfig::zero_start`)
};

/// The rules of search by which `generate` of transformers 5 translates with the settings of a folder. They
/// stand in generation_config.json; older folders have none and keep them in config.json. A setting is obeyed,
/// or has no effect on a translation, or is named in a warning. Throws an input error for one that is not of
/// its type.
ImportedGeneration read_generation_config(const std::filesystem::path& folder, const GenerationModel& model);

}  // namespace sixfold
