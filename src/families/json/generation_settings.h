#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/json/generation_config.h"
#include "families/json/keys.h"

// What the readers of generation_config.json share: those of translation models and of language models. The
// meaning of the settings is defined in transformers' generation/configuration_utils.py, utils.py and
// logits_process.py.

namespace sixfold {

/// A setting, its value without effect, and a value of its type if that one is null. Both null: of any type.
struct Setting {
  const char* key;
  nlohmann::json idle, like = nullptr;
};

/// Settings that neither kind of models has, `do_sample` not among them.
const std::vector<Setting>& settings_of_no_model();
/// Settings of sampling, which `do_sample` enables.
const std::vector<Setting>& settings_of_sampling();

/// What a reader of the settings makes of them. All other settings are named in a warning.
struct Reading {
  std::vector<std::string_view> obeyed;
  std::vector<Setting> ignored;  ///< without effect, whatever their value
  std::vector<Setting> named;    ///< in a warning, unless their value is the idle one
};

/// The settings of a folder, and the files that contain them.
class GenerationSettings {
 public:
  explicit GenerationSettings(const std::filesystem::path& folder)
      : config_(folder / "config.json"), own_file_(std::filesystem::exists(folder / "generation_config.json")) {
    if (own_file_) own_.emplace(folder / "generation_config.json");
  }
  const JsonKeys& keys() const { return own_file_ ? *own_ : config_; }
  const JsonKeys& config() const { return config_; }
  bool own_file() const { return own_file_; }

 private:
  JsonKeys config_;
  bool own_file_;
  std::optional<JsonKeys> own_;
};

/// The settings that are neither obeyed nor without effect, each with its value.
struct OtherSettings {
  std::vector<std::string> known, unknown;
};

OtherSettings other_settings(const GenerationSettings& settings, const Reading& reading);

/// The list of tokens in a setting.
std::vector<int64_t> token_list(const JsonKeys& keys, const char* key);
/// The suppressed words, each as the ids of its tokens. End tokens are never suppressed, as in
/// transformers.
std::vector<std::vector<int>> bad_words(const JsonKeys& keys, const GenerationModel& model);
/// The tokens of a list that the vocabulary has; transformers ignores others.
std::vector<int> known_tokens(const JsonKeys& keys, const char* key, const GenerationModel& model);

/// The settings that both kinds of models have.
GenerationConfig common_rules(const JsonKeys& keys, const GenerationModel& model);

}  // namespace sixfold
