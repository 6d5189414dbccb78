#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/json/generation_config.h"
#include "families/json/keys.h"

// Code that is shared by the readers of generation_config.json for translation models and for language models.
// The meaning of the settings is defined in transformers' generation/configuration_utils.py, utils.py and
// logits_process.py.

namespace sixfold {

/// A setting of `generate`. If `neutral` and `example` are null, a value may have any type.
struct GenerateSetting {
  const char* key;
  nlohmann::json neutral;            ///< the value without effect
  nlohmann::json example = nullptr;  ///< a value of the type of the setting, if `neutral` is null
};

/// Settings that neither kind of model supports. `do_sample` is not among them.
const std::vector<GenerateSetting>& unsupported_settings();
/// Settings of sampling, which `do_sample` enables.
const std::vector<GenerateSetting>& sampling_settings();

/// The settings that a reader knows. All others are unknown, and named in a warning.
struct SettingSupport {
  std::vector<std::string_view> supported;
  std::vector<GenerateSetting> ignored;      ///< without effect for these models, whatever their value
  std::vector<GenerateSetting> unsupported;  ///< an error, unless they have their neutral value
};

/// The settings of a folder, and the files that contain them.
class GenerationSettings {
 public:
  explicit GenerationSettings(const std::filesystem::path& folder)
      : config_(folder / "config.json"),
        has_generation_config_(std::filesystem::exists(folder / "generation_config.json")) {
    if (has_generation_config_) generation_config_.emplace(folder / "generation_config.json");
  }
  const JsonKeys& keys() const { return has_generation_config_ ? *generation_config_ : config_; }
  const JsonKeys& config() const { return config_; }
  bool has_generation_config() const { return has_generation_config_; }

 private:
  JsonKeys config_;
  bool has_generation_config_;
  std::optional<JsonKeys> generation_config_;
};

/// The settings of a folder that are neither supported nor without effect, each with its value.
struct OtherSettings {
  std::vector<std::string> unsupported, unknown;
};

OtherSettings other_settings(const GenerationSettings& settings, const SettingSupport& support);

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
