#include "serve/models.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "base/language_code.h"
#include "model_folder/model_folder.h"
#include "model_folder/what_is.h"
#include "tasks/language_model/settings.h"
#include "tasks/translation/settings.h"

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

int64_t seconds_of(std::filesystem::file_time_type time) {
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

std::string last_part(const std::string& folder) {
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

}  // namespace

std::string language_name(const std::string& code) {
  icu::UnicodeString name;
  std::string text;
  icu::Locale(code.c_str()).getDisplayName(icu::Locale::getEnglish(), name).toUTF8String(text);
  return text;
}

ModelSpec::ModelSpec(const std::string& text) : folder(text) {
  const size_t sign = text.find('=');
  if (sign != std::string::npos && text.find('/') > sign) {
    name = text.substr(0, sign);
    folder = text.substr(sign + 1);
    require(!name.empty(), "'{}' has no name before the '='; write en-de=FOLDER", text);
  }
  require(!folder.empty(), "'{}' has no folder; write en-de=FOLDER", text);
}

void require_model_folders(const std::vector<ModelSpec>& specs) {
  require(!specs.empty(),
          "no model is given to serve; name the languages and the folder of each, as in en-de=run/model");
  for (const ModelSpec& spec : specs) require_model_folder(spec.folder);
}

ServedModel::ServedModel(const ModelSpec& spec, const EngineSettings& settings)
    : name(spec.name), folder(spec.folder) {
  created = seconds_of(std::filesystem::last_write_time(folder + "/config.json"));
  const ModelConfig config = load_model_config(folder);
  const RuntimeOptions runtime{settings.threads, settings.precision, CallingThreads::wait};
  if (config.task == LanguageModelSettings::task) {
    if (name.empty()) name = last_part(folder);
    generator.emplace(folder, runtime);
    return;
  }
  require_task(config, TranslationSettings::task, folder);
  const auto languages_of_model = settings_of<TranslationSettings>(config);
  if (name.empty() && !languages_of_model.source_language.empty() &&
      !languages_of_model.target_language.empty())
    name = languages_of_model.source_language + "-" + languages_of_model.target_language;
  require(!name.empty(), "{}: does not say between which languages it translates; write, for example, en-de={}",
          folder, folder);
  const auto languages = pair_of(name);
  require(languages.has_value(), "'{}': '{}' does not name two languages, as en-de does", spec.folder, name);
  source = languages->first;
  target = languages->second;
  splitter.emplace(source);
  translator.emplace(folder, runtime);
  if (const auto layer = settings.alignment_layer; layer && config.decoder_layers > 0)
    require(*layer >= -config.decoder_layers && *layer < config.decoder_layers,
            "alignment_layer: is {}, but the decoder of {} has layers 0 to {}", *layer, folder,
            config.decoder_layers - 1);
  alignment_layer = settings.alignment_layer;
}

void DecodedByModel::begin(const ServedModel& model) {
  const std::lock_guard lock(mutex_);
  alive_.push_back(&model);
}

void DecodedByModel::end(const ServedModel& model) {
  const std::lock_guard lock(mutex_);
  alive_.remove(&model);
  ended_[model.name].add(model.counts());
}

DecodingCounts DecodedByModel::of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto ended = ended_.find(name);
  DecodingCounts all = ended == ended_.end() ? DecodingCounts() : ended->second;
  for (const ServedModel* model : alive_)
    if (model->name == name) all.add(model->counts());
  return all;
}

std::vector<ModelPointer> Models::load(const std::vector<ModelSpec>& specs,
                                       const EngineSettings& settings) const {
  require_model_folders(specs);
  std::vector<ModelPointer> loaded;
  for (const ModelSpec& spec : specs) {
    auto loading = std::make_unique<const ServedModel>(spec, settings);
    decoded_->begin(*loading);
    const ModelPointer model(loading.release(), [decoded = decoded_](const ServedModel* ended) {
      decoded->end(*ended);
      delete ended;
    });
    for (const ModelPointer& other : loaded)
      require(other->name != model->name, "{} and {} are both named '{}'; give one another name, as in NAME={}",
              other->folder, model->folder, model->name, model->folder);
    loaded.push_back(model);
  }
  return loaded;
}

std::vector<ModelPointer> Models::all() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

ModelPointer Models::named(const std::string& name) const {
  for (ModelPointer& model : all())
    if (model->name == name) return std::move(model);
  return nullptr;
}

ModelPointer Models::between(const std::string& source, const std::string& target) const {
  for (ModelPointer& model : all())
    if (model->translator && model->source == source && model->target == target) return std::move(model);
  return nullptr;
}

std::vector<std::string> Models::sources(const std::string& target) const {
  std::vector<std::string> codes;
  for (const ModelPointer& model : all())
    if (model->translator && (target.empty() || model->target == target) &&
        std::find(codes.begin(), codes.end(), model->source) == codes.end())
      codes.push_back(model->source);
  return codes;
}

std::vector<std::string> Models::languages() const {
  std::vector<std::string> codes = sources();
  for (const ModelPointer& model : all())
    if (model->translator && std::find(codes.begin(), codes.end(), model->target) == codes.end())
      codes.push_back(model->target);
  return codes;
}

std::vector<ModelCounts> Models::counts() const {
  std::vector<ModelCounts> counts;
  for (const ModelPointer& model : all()) counts.push_back({model->name, decoded_->of(model->name)});
  return counts;
}

void Models::reload(const std::vector<ModelSpec>& specs, const EngineSettings& settings) {
  std::vector<ModelPointer> loaded = load(specs, settings);
  const std::lock_guard lock(mutex_);
  models_.swap(loaded);
}

}  // namespace sixfold::serve
