#include "tasks/translation/routes/served.h"

#include <fmt/ranges.h>
#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "base/error.h"
#include "base/language_code.h"
#include "model_folder/shortlist.h"
#include "text/sentences.h"

namespace sixfold::serve {
namespace {

/// Whether a model is multilingual and selects its languages by known tokens.
bool is_multilingual(const TranslationSettings& settings) {
  return !settings.language_token.empty() || !settings.directions.empty();
}

/// The name of a model: the given one, or the languages of its settings. A multilingual model without languages
/// in its settings has the name of its folder.
std::string name_of(const ModelSpec& spec, const ModelConfig& config) {
  if (!spec.name.empty()) return spec.name;
  const auto settings = settings_of<TranslationSettings>(config);
  if (is_multilingual(settings))
    return settings.source_language.empty() || settings.target_language.empty()
               ? spec.name_or_folder()
               : client_code(settings.source_language) + "-" + client_code(settings.target_language);
  require(!settings.source_language.empty() && !settings.target_language.empty(),
          "{}: does not say between which languages it translates; write, for example, en-de={}",
          spec.folders(), spec.folders());
  return settings.source_language + "-" + settings.target_language;
}

/// The languages in the name of a model.
LanguagePair languages_of(const ModelSpec& spec, const std::string& name) {
  const auto languages = language_pair(name);
  require(languages.has_value(), "'{}': '{}' does not name two languages, as en-de does; write en-de={}",
          spec.folders(), name, spec.folders());
  return *languages;
}

/// Performs the checks that are possible before the weights are loaded. Returns the spec with the name of the
/// model.
ModelSpec checked(const ModelSpec& spec, const ModelConfig& config, const EngineSettings& settings) {
  ModelSpec named = spec;
  named.name = name_of(spec, config);
  if (!is_multilingual(settings_of<TranslationSettings>(config))) languages_of(spec, named.name);
  if (const std::string list = shortlist_of_folder(spec.folder); !list.empty()) load_shortlist(list, config);
  if (const auto layer = settings.alignment_layer)
    require(*layer >= -config.decoder_layers && *layer < config.decoder_layers,
            "alignment_layer is {}, but the decoder of {} has layers 0 to {}", *layer, spec.folder,
            config.decoder_layers - 1);
  return named;
}

/// Appends the codes that are not yet in `codes`.
void add_new(const std::vector<std::string>& more, std::vector<std::string>& codes) {
  if (codes.empty()) {
    codes = more;
    return;
  }
  for (const std::string& code : more)
    if (std::ranges::count(codes, code) == 0) codes.push_back(code);
}

}  // namespace

ServedTranslation::ServedTranslation(const ModelSpec& spec, const EngineSettings& settings)
    : alignment_layer(settings.alignment_layer), translator_(spec.folder, settings.runtime(spec)) {
  name = spec.name;
  const auto task_settings = settings_of<TranslationSettings>(translator_.config());
  for (const std::string& direction : task_settings.directions) {
    const LanguagePair& pair = pairs_.emplace_back(*language_pair(direction));
    add_new({pair.source}, sources), add_new({pair.target}, targets);
    model_codes_[pair.source] = pair.source, model_codes_[pair.target] = pair.target;
  }
  if (!pairs_.empty()) return;
  const std::vector<std::string> model_languages = translator_.languages();
  if (model_languages.empty()) {
    const LanguagePair pair = languages_of(spec, spec.name);
    source = pair.source, target = pair.target;
    sources = {source}, targets = {target};
    const SentenceSplitter known(source);  // throws if ICU does not know the language
    return;
  }
  for (const std::string& language : model_languages) {
    const std::string code = is_language_code(language) ? language : client_code(language),
                      unique = model_codes_.contains(code) ? language : code;
    model_codes_[unique] = language;
    sources.push_back(unique);
  }
  targets = sources;
  source = find_language(sources, task_settings.source_language);
  target = find_language(targets, task_settings.target_language);
  for (const std::string& language : {task_settings.source_language, task_settings.target_language})
    require(language.empty() || std::ranges::count(model_languages, language) > 0,
            "{}: the language '{}' of its config.json is not one of the model's", spec.folder, language);
}

std::string match_language(const std::vector<std::string>& languages, const std::string& code) {
  constexpr size_t max_code_bytes = 32;
  const auto normalized = [](std::string_view text) {
    std::string result;
    for (const char c : text)
      result += c == '_' ? '-' : 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
  };
  for (const std::string& language : languages)
    if (code.size() <= max_code_bytes && normalized(language) == normalized(code)) return language;
  const std::string short_code = code.empty() || code.size() > max_code_bytes ? "" : client_code(code);
  return std::ranges::count(languages, short_code) > 0 ? short_code : "";
}

std::string ServedTranslation::find_language(const std::vector<std::string>& languages,
                                             const std::string& code) const {
  if (std::ranges::count(languages, code) > 0) return code;
  for (const auto& [client_code, model_code] : model_codes_)
    if (model_code == code) return client_code;
  return has_many_languages() ? match_language(languages, code) : "";
}

bool ServedTranslation::translates(const LanguagePair& languages) const {
  return pairs_.empty() || std::ranges::count(pairs_, languages) > 0;
}

std::vector<std::string> ServedTranslation::all_languages() const {
  std::vector<std::string> codes = sources;
  add_new(targets, codes);
  return codes;
}

std::string ServedTranslation::describe_pairs() const {
  if (pairs_.empty()) return fmt::format("between any two of {}", fmt::join(sources, ", "));
  std::vector<std::string> words;
  for (const LanguagePair& pair : pairs_) words.push_back(pair.source + "-" + pair.target);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string ServedTranslation::model_code(const std::string& code) const {
  const auto found = model_codes_.find(code);
  return found == model_codes_.end() ? "" : found->second;
}

std::string ServedPair::splitting_language() const {
  constexpr const char* fallback = "eo";  // has no rules besides those of Unicode
  return *icu::Locale(source.c_str()).getISO3Language() != 0 ? source : fallback;
}

std::optional<ServedPair> pair_of(const TranslationModel& model, const std::string& source,
                                  const std::string& target) {
  ServedPair pair{model, model->find_language(model->sources, source.empty() ? model->source : source),
                  model->find_language(model->targets, target.empty() ? model->target : target)};
  if (pair.source.empty() || pair.target.empty() || !model->translates({pair.source, pair.target})) return {};
  return pair;
}

std::string client_code(const std::string& model_code) {
  icu::Locale locale = icu::Locale::createCanonical(model_code.c_str());
  icu::Locale default_locale(locale.getLanguage());
  UErrorCode error = U_ZERO_ERROR;
  locale.addLikelySubtags(error);
  default_locale.addLikelySubtags(error);
  std::string code = locale.getLanguage();
  if (std::string_view(locale.getScript()) != default_locale.getScript())
    code += fmt::format("-{}", locale.getScript());
  return U_SUCCESS(error) && is_language_code(code) ? code : model_code;
}

void ServedTranslation::describe(nlohmann::ordered_json& entry) const {
  entry["kind"] = "translation";
  if (!source.empty()) entry.update({{"source", source}, {"source_name", language_name(source)}});
  if (!target.empty()) entry.update({{"target", target}, {"target_name", language_name(target)}});
  if (has_many_languages()) entry["languages"] = all_languages();
  for (const LanguagePair& pair : pairs_) entry["pairs"].push_back(pair.source + "-" + pair.target);
}

ServedTask served_translation(std::vector<Route> (*routes)(Service& service)) {
  return {.task = ServedTranslation::task,
          .load = [](const ModelSpec& spec, const ModelConfig& config,
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

ServedPair required_pair(Service& service, const std::string& source, const std::string& target) {
  std::vector<std::string> pairs;
  for (const TranslationModel& model : service.models().all_of<ServedTranslation>()) {
    if (!source.empty() && !target.empty())
      if (const auto pair = pair_of(model, source, target)) return *pair;
    pairs.push_back(model->has_many_languages() ? model->name + " " + model->describe_pairs() : model->name);
  }
  throw HttpError(400, fmt::format("There is no model from {} to {}; there {}: {}.", source, target,
                                   pairs.size() == 1 ? "is" : "are", fmt::join(pairs, ", ")));
}

std::vector<std::string> source_languages(const Models& models, const std::string& target) {
  std::vector<std::string> codes;
  for (const TranslationModel& model : models.all_of<ServedTranslation>())
    for (const std::string& source : model->sources)
      if (target.empty() || pair_of(model, source, target)) add_new({source}, codes);
  return codes;
}

std::vector<std::string> target_languages(const Models& models, const std::string& source) {
  std::vector<std::string> codes;
  for (const TranslationModel& model : models.all_of<ServedTranslation>())
    for (const std::string& target : model->targets)
      if (source.empty() || pair_of(model, source, target)) add_new({target}, codes);
  return codes;
}

std::vector<std::string> all_languages(const Models& models) {
  std::vector<std::string> codes = source_languages(models);
  add_new(target_languages(models), codes);
  return codes;
}

}  // namespace sixfold::serve
