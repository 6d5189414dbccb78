#include "tasks/kit/task_options.h"

#include <algorithm>

#include "base/log.h"
#include "model_folder/model_folder.h"

namespace sixfold {
namespace {

/// Returns the keys of the sizes in which two architectures differ.
std::vector<std::string> differing_sizes(const ModelOptions& a, const ModelOptions& b) {
  std::vector<std::string> keys;
  const OptionNode left = write_options(a), right = write_options(b);
  for (size_t i = 0; i < left.children.size(); ++i) {
    const auto& [key, value] = left.children[i];
    for (const char* size :
         {"d_model", "heads", "decoder_heads", "d_ff", "decoder_d_ff", "encoder_layers", "decoder_layers"})
      if (key == size && value.text != right.children[i].second.text) keys.push_back(key);
  }
  return keys;
}

/// Returns the keys of an architecture that were changed, except the preset and the dropout rates. A value is
/// compared with the default of the task or, if the task has none, with that of the preset.
std::vector<std::string> changed_architecture_keys(const ModelOptions& model,
                                                   const ModelOptions& default_model) {
  const OptionNode values = write_options(model), defaults = write_options(default_model),
                   preset_of_task = write_options(ModelOptions(default_model.preset())),
                   preset = write_options(ModelOptions(model.preset()));
  std::vector<std::string> keys;
  for (size_t i = 0; i < values.children.size(); ++i) {
    const std::string& key = values.children[i].first;
    const auto value = [&](const OptionNode& node) { return value_text(node.children[i].second); };
    const bool set_by_task = value(defaults) != value(preset_of_task);
    if (key != "preset" && !key.ends_with("dropout") && value(values) != value(set_by_task ? defaults : preset))
      keys.push_back(key);
  }
  return keys;
}

/// Returns the keys of a tokenizer that were changed. A joint tokenizer has one normalization, for both sides.
std::vector<std::string> changed_tokenizer_keys(const TokenizerOptions& tokenizer,
                                                const TokenizerOptions& defaults) {
  std::vector<std::string> keys = differing_keys(write_options(tokenizer), write_options(defaults));
  if (tokenizer.joint && tokenizer.target_normalization == tokenizer.normalization)
    std::erase(keys, "target_normalization");
  return keys;
}

/// The architecture of a run: that of the options, or that of the model from which it starts, with the dropout
/// rates of the options. If the model can't be read, which training reports, it is that of the options.
Architecture architecture_of(const ModelOptions& model, const std::string& start) {
  const auto config = start_config(start);
  if (!config) return model;
  Architecture used = *config;
  used.dropout = model.dropout;
  used.attention_dropout = model.attention_dropout;
  used.activation_dropout = model.activation_dropout;
  return used;
}

}  // namespace

std::optional<ModelConfig> start_config(const std::string& folder) {
  if (folder.empty()) return {};
  try {
    return load_model_config(folder);
  } catch (const Error&) {
    return {};
  }
}

std::vector<std::string> advice_on_model(const ModelGroups& groups, const ModelGroups& defaults,
                                         const TrainingGroups& run) {
  std::vector<std::string> advice;
  const ModelOptions &model = groups.model, &default_model = defaults.model;
  if (!run.tokenizers_from().empty())
    for (const std::string& key : changed_tokenizer_keys(groups.tokenizer, defaults.tokenizer))
      advice.push_back(fmt::format("tokenizer.{} has no effect together with {}.model, whose tokenizer is used",
                                   key, run.start.model.empty() ? "teacher" : "start"));
  if (!run.start.model.empty()) {
    if (to_json(write_options(groups.generation)) != to_json(write_options(defaults.generation)))
      advice.emplace_back(
          "generation has no effect together with start.model, whose generation settings are used");
    if (model.preset() != default_model.preset())
      advice.emplace_back(
          "model.preset gives only its dropout rates together with start.model, whose architecture is used");
    for (const std::string& key : changed_architecture_keys(model, default_model))
      advice.push_back(
          fmt::format("model.{} has no effect together with start.model, whose architecture is used", key));
  } else if (model.preset() != default_model.preset()) {
    ModelOptions preset(model.preset());
    if (!default_model.has_encoder()) preset.encoder_layers = 0;
    if (!default_model.has_decoder()) preset.decoder_layers = 0;
    for (const std::string& key : differing_sizes(model, preset))
      advice.push_back(
          fmt::format("model.{} is set together with model.preset {} and overrides the preset's value", key,
                      name_of_enum(model.preset())));
  }
  const Architecture used = architecture_of(model, run.start.model);
  for (const std::string& setting : without_effect(used))  // of a start model, only dropout rates are chosen
    if (run.start.model.empty() || setting.find("dropout:") != setting.npos)
      advice.push_back(fmt::format("model.{}; the setting has no effect", setting));
  if (run.train.r_drop > 0 &&
      (has_dropout_step(used) ? used.dropout : 0) + used.attention_dropout + used.activation_dropout == 0)
    advice.emplace_back(
        "train.r_drop has no effect without dropout, since both passes are the same; set model.dropout higher");
  return advice;
}

std::vector<std::string> advice_on_generation(const ModelGroups& groups, const ModelGroups& defaults,
                                              const StartOptions& start,
                                              std::span<const std::string_view> without_effect,
                                              std::string_view why) {
  std::vector<std::string> advice;
  if (!start.model.empty()) return advice;  // the whole group has no effect
  for (const std::string& key :
       differing_keys(write_options(groups.generation), write_options(defaults.generation)))
    if (without_effect.empty() || std::ranges::count(without_effect, key) > 0)
      advice.push_back(fmt::format("generation.{} has no effect: {}", key, why));
  return advice;
}

ModelConfig initial_config(const ModelOptions& model, const GenerationConfig& generation,
                           const std::string& from) {
  if (from.empty()) {
    ModelConfig config;
    static_cast<Architecture&>(config) = model;
    config.generation = generation;
    return config;
  }
  ModelConfig config = load_model_config(from);
  const auto set_rate = [&](const char* key, float& rate, float chosen) {
    if (rate != chosen) log_info("model.{} is {} in this run; it was {} in {}", key, chosen, rate, from);
    rate = chosen;
  };
  set_rate("dropout", config.dropout, model.dropout);
  set_rate("attention_dropout", config.attention_dropout, model.attention_dropout);
  set_rate("activation_dropout", config.activation_dropout, model.activation_dropout);
  return config;
}

void refuse_key(OptionNode& root, std::string_view path, std::string_view allowed, std::string_view why) {
  const OptionNode* const value = root.find_path(path);
  if (value && value->text != allowed) throw_input_error("{}: {}: {}; remove the key", value->where, path, why);
}

void refuse_second_tokenizer(OptionNode& root, std::string_view why, const TokenizerOptions& defaults) {
  refuse_key(root, "tokenizer.joint", "true", why);
  refuse_key(root, "tokenizer.target", "", why);
  const OptionNode* const normalization = root.find_path("tokenizer.normalization");
  refuse_key(root, "tokenizer.target_normalization",
             normalization ? normalization->text : name_of_enum(defaults.normalization), why);
}

void normalize_alike(TokenizerOptions& tokenizer) { tokenizer.target_normalization = tokenizer.normalization; }

void check_batch_norm(const Architecture& model, const BatchOptions& data) {
  static constexpr int min_tokens = 4;  // two of the source and two of the target
  if (model.norm != Norm::batch) return;
  const auto check = [](const char* key, int tokens) {
    require(
        tokens == 0 || tokens >= min_tokens,
        "{} is {}, but model.norm: 'batch' normalizes over the tokens of a part of a batch and needs at least "
        "{}; set it higher, or choose another norm",
        key, tokens, min_tokens);
  };
  check("data.batch_tokens", data.batch_tokens);
  check("data.micro_batch_tokens", data.micro_batch_tokens);
}

}  // namespace sixfold
