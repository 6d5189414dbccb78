#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "families/family.h"
#include "model/config.h"

namespace sixfold {

/// The properties of a model on which its generation settings depend.
struct GenerationModel {
  int eos = 0;                      ///< id of the vocabulary's end token
  int target_tokens = 0;            ///< size of the vocabulary
  std::vector<int> more_ends = {};  ///< tokens besides `eos` that end an output
};

/// The imported settings.
struct ImportedGeneration {
  GenerationConfig generation;
  int decoder_start_token = -1;  ///< -1: an embedding of zeros (`ModelConfig::zero_start`)
};

/// Reads the settings by which `generate` of transformers 5 translates with a model folder. They are in
/// generation_config.json, or in config.json in older folders. Settings that are not known are named in a
/// warning. Throws an input error that names the settings that change translations and are not supported, or
/// one of the wrong type.
ImportedGeneration read_generation_config(const std::filesystem::path& folder, const GenerationModel& model,
                                          Notes& notes);

/// Maximum length of the sources of an exported translation model, including the end token. The limit of
/// outputs that is written is that for a source of this length.
inline constexpr int max_exported_source = 512;

/// The settings of `generate` that correspond to those of a translation model. `pad`: the id of a padding token
/// that is never generated, or -1. Outputs are limited to `max_tokens` tokens.
GenerationConfig exported_generation(const ModelConfig& config, int pad, int max_tokens);

/// The token that is forced at the maximum length, or null if the output is cut.
nlohmann::ordered_json forced_end(const GenerationConfig& rules, int eos);

/// The stopping criterion of a search as a value of `early_stopping`.
nlohmann::ordered_json early_stopping_json(const GenerationConfig& rules);

/// generation_config.json of a translation model with settings of `exported_generation`.
nlohmann::ordered_json generation_json(const ModelConfig& config, int pad);

}  // namespace sixfold
