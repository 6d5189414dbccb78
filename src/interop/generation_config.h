#pragma once
#include <filesystem>

#include "model/generation_config.h"

namespace sixfold {

/// Properties of the model that the generation settings depend on.
struct GenerationModel {
  int eos = 0;            ///< id of the vocabulary's end token
  int target_tokens = 0;  ///< size of the vocabulary
};

/// The imported settings.
struct ImportedGeneration {
  GenerationConfig generation;
  int decoder_start_token = -1;  ///< -1: an embedding of zeros (`ModelConfig::zero_start`)
};

/// Reads the settings by which `generate` of transformers 5 translates with a model folder. They are in
/// generation_config.json, or in config.json in older folders. Settings that would change translations but are
/// not supported are named in a warning. Throws an input error if a setting has the wrong type.
ImportedGeneration read_generation_config(const std::filesystem::path& folder, const GenerationModel& model);

}  // namespace sixfold
