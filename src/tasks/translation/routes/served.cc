#include "tasks/translation/routes/served.h"

#include <fmt/ranges.h>
#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "base/error.h"
#include "base/language_code.h"
#include "text/sentences.h"

namespace sixfold::serve {
namespace {

/// Whether the languages of a model are chosen by tokens that are known.
bool chooses_languages(const TranslationSettings& settings) {
  return !settings.language_token.empty() || !settings.directions.empty();
}

/// The name of a model: the given one, or that of the languages of its settings. A model of many languages that
/// has none there has the name of its folder.
std::string name_of(const ModelSpec& spec, const ModelConfig& config) {
  if (!spec.name.empty()) return spec.name;
  const auto settings = settings_of<TranslationSettings>(config);
  if (chooses_languages(settings))
    return settings.source_language.empty() || settings.target_language.empty()
               ? spec.name_or_folder()
               : client_code(settings.source_language) + "-" + client_code(settings.target_language);
  require(!settings.source_language.empty() && !settings.target_language.empty(),
          "{}: does not say between which languages it translates; write, for example, en-de={}", spec.folder,
          spec.folder);
  return settings.source_language + "-" + settings.target_language;
}

/// The languages that a name has.
LanguagePair languages_of(const ModelSpec& spec, const std::string& name) {
  const auto languages = language_pair(name);
  require(languages.has_value(), "'{}': '{}' does not name two languages, as en-de does; write en-de={}",
          spec.folder, name, spec.folder);
  return *languages;
}

/// Checks what can be known before the weights are loaded.
ModelSpec checked(const ModelSpec& spec, const ModelConfig& config, const EngineSettings& settings) {
  ModelSpec named = spec;
  named.name = name_of(spec, config);
  if (!chooses_languages(settings_of<TranslationSettings>(config))) languages_of(spec, named.name);
  if (const auto layer = settings.alignment_layer)
    require(*layer >= -config.decoder_layers && *layer < config.decoder_layers,
            "alignment_layer: is {}, but the decoder of {} has layers 0 to {}", *layer, spec.folder,
            config.decoder_layers - 1);
  return named;
}

/// Appends those that are not there yet.
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
    : alignment_layer(settings.alignment_layer), translator_(spec.folder, settings.runtime()) {
  name = spec.name;
  const auto settings_of_task = settings_of<TranslationSettings>(translator_.config());
  for (const std::string& direction : settings_of_task.directions) {
    const LanguagePair& pair = pairs_.emplace_back(*language_pair(direction));
    add_new({pair.source}, sources), add_new({pair.target}, targets);
    own_codes_[pair.source] = pair.source, own_codes_[pair.target] = pair.target;
  }
  if (!pairs_.empty()) return;
  const std::vector<std::string> own = translator_.languages();
  if (own.empty()) {
    const LanguagePair pair = languages_of(spec, spec.name);
    source = pair.source, target = pair.target;
    sources = {source}, targets = {target};
    const SentenceSplitter known(source);  // throws if ICU does not know the language
    return;
  }
  for (const std::string& language : own) {
    const std::string code = is_language_code(language) ? language : client_code(language),
                      unique = own_codes_.contains(code) ? language : code;
    own_codes_[unique] = language;
    sources.push_back(unique);
  }
  targets = sources;
  const TranslationSettings& usual = settings_of_task;
  source = known(sources, usual.source_language), target = known(targets, usual.target_language);
  for (const std::string& language : {usual.source_language, usual.target_language})
    require(language.empty() || std::ranges::count(own, language) > 0,
            "{}: the language '{}' of its config.json is not one of the model's", spec.folder, language);
}

std::string spelled_as_in(const std::vector<std::string>& languages, const std::string& code) {
  constexpr size_t longest_code = 32;
  const auto plain = [](std::string_view text) {
    std::string letters;
    for (const char c : text)
      letters += c == '_' ? '-' : 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return letters;
  };
  for (const std::string& language : languages)
    if (code.size() <= longest_code && plain(language) == plain(code)) return language;
  const std::string usual = code.empty() || code.size() > longest_code ? "" : client_code(code);
  return std::ranges::count(languages, usual) > 0 ? usual : "";
}

std::string ServedTranslation::known(const std::vector<std::string>& languages, const std::string& code) const {
  if (std::ranges::count(languages, code) > 0) return code;
  for (const auto& [client, own] : own_codes_)
    if (own == code) return client;
  return has_many_languages() ? spelled_as_in(languages, code) : "";
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

std::string ServedTranslation::own_code(const std::string& code) const {
  const auto own = own_codes_.find(code);
  return own == own_codes_.end() ? "" : own->second;
}

std::string ServedPair::splitting_language() const {
  constexpr const char* without_rules = "eo";  // splits by the rules of Unicode alone
  return *icu::Locale(source.c_str()).getISO3Language() != 0 ? source : without_rules;
}

std::optional<ServedPair> pair_of(const TranslationModel& model, const std::string& source,
                                  const std::string& target) {
  ServedPair pair{model, model->known(model->sources, source.empty() ? model->source : source),
                  model->known(model->targets, target.empty() ? model->target : target)};
  if (pair.source.empty() || pair.target.empty() || !model->translates({pair.source, pair.target})) return {};
  return pair;
}

std::string client_code(const std::string& own) {
  icu::Locale locale = icu::Locale::createCanonical(own.c_str());
  icu::Locale usual(locale.getLanguage());
  UErrorCode error = U_ZERO_ERROR;
  locale.addLikelySubtags(error);
  usual.addLikelySubtags(error);
  std::string code = locale.getLanguage();
  if (std::string_view(locale.getScript()) != usual.getScript()) code += fmt::format("-{}", locale.getScript());
  return U_SUCCESS(error) && is_language_code(code) ? code : own;
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
