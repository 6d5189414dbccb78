#include "tasks/task_options.h"

#include "base/log.h"
#include "model/model_dir.h"

namespace sixfold {
namespace {

/// Returns the keys of the sizes in which two architectures differ.
std::vector<std::string> differing_sizes(const ModelOptions& a, const ModelOptions& b) {
  std::vector<std::string> keys;
  const OptionNode left = write_options(a), right = write_options(b);
  for (size_t i = 0; i < left.children.size(); ++i) {
    const auto& [key, value] = left.children[i];
    for (const char* size : {"d_model", "heads", "d_ff", "encoder_layers", "decoder_layers"})
      if (key == size && value.text != right.children[i].second.text) keys.push_back(key);
  }
  return keys;
}

}  // namespace

std::vector<std::string> advice_on_model(const ModelOptions& model, const ModelOptions& default_model,
                                         const GenerationConfig& generation, const StartOptions& start) {
  std::vector<std::string> advice;
  if (!start.model.empty()) {
    if (to_json(write_options(generation)) != to_json(write_options(GenerationConfig())))
      advice.emplace_back(
          "generation has no effect together with start.model, whose generation settings are used");
    for (const std::string& key : differing_sizes(model, default_model))
      advice.push_back(
          fmt::format("model.{} has no effect together with start.model, whose sizes are used", key));
  } else if (model.preset() != default_model.preset()) {
    ModelOptions preset(model.preset());
    if (!default_model.has_encoder()) preset.encoder_layers = 0;
    if (!default_model.has_decoder()) preset.decoder_layers = 0;
    for (const std::string& key : differing_sizes(model, preset))
      advice.push_back(
          fmt::format("model.{} is set together with model.preset {} and overrides the preset's value", key,
                      name_of_enum(model.preset())));
  }
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
  const auto take = [&](const char* key, float& rate, float chosen) {
    if (rate != chosen) log_info("model.{} is {} in this run; it was {} in {}", key, chosen, rate, from);
    rate = chosen;
  };
  take("dropout", config.dropout, model.dropout);
  take("attention_dropout", config.attention_dropout, model.attention_dropout);
  take("activation_dropout", config.activation_dropout, model.activation_dropout);
  return config;
}

void warn_without_effect(const ModelConfig& config) {
  for (const std::string& setting : without_effect(config))
    log_warning("model.{}; the setting has no effect", setting);
}

}  // namespace sixfold
