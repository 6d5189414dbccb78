#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/service.h"
#include "tasks/translation/settings.h"
#include "tasks/translation/translator.h"
#include "text/sentences.h"

namespace sixfold::serve {

/// A translation model that is served. Its name has the codes of its languages: "en-de".
struct ServedTranslation final : ServedModel {
  static constexpr std::string_view task = TranslationSettings::task;

  std::string source, target;          ///< codes of the languages
  SentenceSplitter splitter;           ///< for the source language
  std::optional<int> alignment_layer;  ///< instead of that of the model

  /// Throws an input error if the folder is not a translation model, or if its languages are not known.
  ServedTranslation(const ModelSpec& spec, const EngineSettings& settings);
  const Translator& predictor() const override { return translator_; }
  void describe(nlohmann::ordered_json& entry) const override;

 private:
  Translator translator_;
};
using TranslationModel = std::shared_ptr<const ServedTranslation>;

/// The row of the server's table, with the routes of `routes`.
ServedTask served_translation(std::vector<Route> (*routes)(Service& service));
/// /v1/translate.
std::vector<Route> translate_routes(Service& service);

/// The name of a language in English: "German".
std::string language_name(const std::string& code);
/// The model that translates between two languages, or null.
TranslationModel model_between(const Models& models, const std::string& source, const std::string& target);
/// The same. Throws an `HttpError` (400) that says which there are if there is none.
TranslationModel required_model(Service& service, const std::string& source, const std::string& target);
/// The codes of the source languages, without repetition, in the order of the models; with a target, only of
/// those that are translated into it.
std::vector<std::string> source_languages(const Models& models, const std::string& target = "");
/// Those and, after them, the codes of the target languages, without repetition.
std::vector<std::string> all_languages(const Models& models);

}  // namespace sixfold::serve
