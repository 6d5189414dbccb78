#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "families/json/generation_config.h"
#include "tasks/language_model/settings.h"

namespace sixfold {

/// The special tokens of a language model; -1: none.
struct SpecialIds {
  int bos = -1, eos = -1;
  std::vector<int> more_ends = {};  ///< end tokens besides `eos`
};

/// Reads bos_token_id and eos_token_id of a folder: those of generation_config.json, then those of config.json.
/// A value of null counts as none. `defaults` are the ids of a config.json without the keys, and `tokens` the
/// size of the vocabulary. Of several end tokens the first is `eos`. Throws an input error if there is no end
/// token, if there are several start tokens, or if a value is not an id of the vocabulary.
SpecialIds read_special_ids(const std::filesystem::path& folder, const SpecialIds& defaults, int tokens);

/// The settings of text generation with a language model.
struct TextGeneration {
  GenerationConfig generation;
  LanguageModelSettings settings;
};

/// Reads the settings by which `generate` of transformers 5 continues a text with a model folder. Settings that
/// are not known are named in a warning. Throws an input error that names the settings that change texts and
/// are not supported, or one with a wrong value.
TextGeneration read_text_generation_config(const std::filesystem::path& folder, const GenerationModel& model,
                                           Notes& notes);

/// The settings of `generate` that correspond to those of a language model.
TextGeneration exported_text_generation(const ModelConfig& config);

/// generation_config.json of a language model with settings of `exported_text_generation`.
nlohmann::ordered_json text_generation_json(const ModelConfig& config);

/// The end token of a language model, or a list of several.
nlohmann::ordered_json end_tokens_json(const ModelConfig& config);

}  // namespace sixfold
