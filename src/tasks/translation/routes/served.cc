#include "tasks/translation/routes/served.h"

#include <fmt/ranges.h>
#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "base/error.h"
#include "base/language_code.h"

namespace sixfold::serve {
namespace {

/// The languages of "en-de" or "pt-BR-en".
std::optional<std::pair<std::string, std::string>> pair_of(const std::string& name) {
  const size_t source = language_code_length(name);
  if (source == 0 || source >= name.size() || name[source] != '-') return {};
  const std::string target = name.substr(source + 1);
  if (language_code_length(target) != target.size() || target.empty()) return {};
  return std::pair(name.substr(0, source), target);
}

/// The name of a model: the given one, or that of the languages of its settings.
std::string name_of(const ModelSpec& spec, const ModelConfig& config) {
  if (!spec.name.empty()) return spec.name;
  const auto settings = settings_of<TranslationSettings>(config);
  require(!settings.source_language.empty() && !settings.target_language.empty(),
          "{}: does not say between which languages it translates; write, for example, en-de={}", spec.folder,
          spec.folder);
  return settings.source_language + "-" + settings.target_language;
}

/// The languages that a name has.
std::pair<std::string, std::string> languages_of(const ModelSpec& spec, const std::string& name) {
  const auto languages = pair_of(name);
  require(languages.has_value(), "'{}': '{}' does not name two languages, as en-de does; write en-de={}",
          spec.folder, name, spec.folder);
  return *languages;
}

/// Of a model with tokens for its languages those of its settings are served. Throws an input error if they are
/// not set, or if the given name is of others.
void check_languages(const ModelSpec& spec, const ModelConfig& config) {
  const auto settings = settings_of<TranslationSettings>(config);
  if (settings.language_token.empty()) return;
  const std::string own = settings.source_language + "-" + settings.target_language;
  require(!settings.source_language.empty() && !settings.target_language.empty(),
          "{}: its config.json does not say between which of its languages it translates; set "
          "translation.source_language and translation.target_language there",
          spec.folder);
  const bool plain = is_language_code(settings.source_language) && is_language_code(settings.target_language);
  require(!plain || spec.name.empty() || spec.name == own,
          "{}: is served for '{}', the languages in its config.json, and not for '{}'", spec.folder, own,
          spec.name);
}

/// Checks what can be known before the weights are loaded.
ModelSpec checked(const ModelSpec& spec, const ModelConfig& config, const EngineSettings& settings) {
  ModelSpec named = spec;
  named.name = name_of(spec, config);
  languages_of(spec, named.name);
  check_languages(spec, config);
  if (const auto layer = settings.alignment_layer)
    require(*layer >= -config.decoder_layers && *layer < config.decoder_layers,
            "alignment_layer: is {}, but the decoder of {} has layers 0 to {}", *layer, spec.folder,
            config.decoder_layers - 1);
  return named;
}

}  // namespace

ServedTranslation::ServedTranslation(const ModelSpec& spec, const EngineSettings& settings)
    : source(languages_of(spec, spec.name).first),
      target(languages_of(spec, spec.name).second),
      splitter(source),
      alignment_layer(settings.alignment_layer),
      translator_(spec.folder, settings.runtime()) {
  name = spec.name;
}

void ServedTranslation::describe(nlohmann::ordered_json& entry) const {
  entry["kind"] = "translation";
  entry.update({{"source", source},
                {"target", target},
                {"source_name", language_name(source)},
                {"target_name", language_name(target)}});
}

ServedTask served_translation(std::vector<Route> (*routes)(Service& service)) {
  return {.task = ServedTranslation::task,
          .open = [](const ModelSpec& spec, const ModelConfig& config,
                     const EngineSettings& settings) -> std::unique_ptr<ServedModel> {
            return std::make_unique<ServedTranslation>(checked(spec, config, settings), settings);
          },
          .routes = routes};
}

std::string language_name(const std::string& code) {
  icu::UnicodeString name;
  std::string text;
  icu::Locale(code.c_str()).getDisplayName(icu::Locale::getEnglish(), name).toUTF8String(text);
  return text;
}

TranslationModel model_between(const Models& models, const std::string& source, const std::string& target) {
  for (TranslationModel& model : models.all_of<ServedTranslation>())
    if (model->source == source && model->target == target) return std::move(model);
  return nullptr;
}

TranslationModel required_model(Service& service, const std::string& source, const std::string& target) {
  if (TranslationModel model = model_between(service.models(), source, target)) return model;
  std::vector<std::string> pairs;
  for (const TranslationModel& model : service.models().all_of<ServedTranslation>())
    pairs.push_back(model->name);
  throw HttpError(400, fmt::format("There is no model from {} to {}; there {}: {}.", source, target,
                                   pairs.size() == 1 ? "is" : "are", fmt::join(pairs, ", ")));
}

std::vector<std::string> source_languages(const Models& models, const std::string& target) {
  std::vector<std::string> codes;
  for (const TranslationModel& model : models.all_of<ServedTranslation>())
    if ((target.empty() || model->target == target) &&
        std::find(codes.begin(), codes.end(), model->source) == codes.end())
      codes.push_back(model->source);
  return codes;
}

std::vector<std::string> all_languages(const Models& models) {
  std::vector<std::string> codes = source_languages(models);
  for (const TranslationModel& model : models.all_of<ServedTranslation>())
    if (std::find(codes.begin(), codes.end(), model->target) == codes.end()) codes.push_back(model->target);
  return codes;
}

}  // namespace sixfold::serve
