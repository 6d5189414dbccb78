#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/service.h"
#include "tasks/translation/settings.h"
#include "tasks/translation/translator.h"

namespace sixfold::serve {

/// A translation model that is served. Its name consists of the codes of its languages: "en-de". A multilingual
/// model may have any name: it translates between the pairs of languages that it was trained for or, if these
/// are not known, between any two of its languages.
struct ServedTranslation final : ServedModel {
  static constexpr std::string_view task = TranslationSettings::task;

  /// The default languages of requests that name the model. A multilingual model may have none: empty.
  std::string source, target;
  std::vector<std::string> sources, targets;  ///< codes of all languages (`client_code`)
  std::optional<int> alignment_layer;         ///< instead of that of the model

  /// Throws an input error if the folder is not a translation model, or if its languages are not known.
  ServedTranslation(const ModelSpec& spec, const EngineSettings& settings);
  const Translator& predictor() const override { return translator_; }
  void describe(nlohmann::ordered_json& entry) const override;

  bool has_many_languages() const { return !model_codes_.empty(); }
  /// Whether it translates from one of `sources` into one of `targets`.
  bool translates(const LanguagePair& languages) const;
  /// The codes of `sources` and `targets`, each once.
  std::vector<std::string> all_languages() const;
  /// "en-de, de-en", or "between any two of de, en, fr".
  std::string describe_pairs() const;
  /// Finds a language in `sources` or `targets`; empty if it is not there. For a multilingual model `code` may
  /// also be the code that the model itself uses, or have another spelling.
  std::string find_language(const std::vector<std::string>& languages, const std::string& code) const;
  /// The code that a multilingual model itself uses for a language; empty for other models.
  std::string model_code(const std::string& code) const;

 private:
  Translator translator_;
  std::map<std::string, std::string> model_codes_;  // by the codes for clients
  std::vector<LanguagePair> pairs_;                 // the supported directions; empty: all
};
using TranslationModel = std::shared_ptr<const ServedTranslation>;

/// A model and two of its languages.
struct ServedPair {
  TranslationModel model;
  std::string source, target;

  /// The language whose rules split its sources into sentences.
  std::string splitting_language() const;
};
/// A model with two languages; an empty one stands for the default of the model. Empty if the model does not
/// translate between them, or if it has no default for an empty one.
std::optional<ServedPair> pair_of(const TranslationModel& model, const std::string& source,
                                  const std::string& target);

/// The code for clients of a language that a model calls `model_code`: "en" for eng_Latn, en_XX and en-US,
/// "zh-Hant" for zho_Hant and zh-TW. Regions are left out, and so is the usual script of a language.
std::string client_code(const std::string& model_code);
/// The language of a list that has this code or another spelling of it; empty if there is none.
std::string match_language(const std::vector<std::string>& languages, const std::string& code);

/// The entry of the task in the server's table of tasks.
ServedTask served_translation(std::vector<Route> (*routes)(Service& service));
/// The routes of /v1/translate.
std::vector<Route> translate_routes(Service& service);

/// The name of a language in English: "German".
std::string language_name(const std::string& code);
/// The first model that translates between two languages. If there is none, throws an `HttpError` (400) that
/// lists the supported pairs.
ServedPair required_pair(Service& service, const std::string& source, const std::string& target);
/// The codes of the source languages, without repetition, in the order of the models. With `target`, only those
/// that are translated into it.
std::vector<std::string> source_languages(const Models& models, const std::string& target = "");
/// The same for target languages. With `source`, only those into which it is translated.
std::vector<std::string> target_languages(const Models& models, const std::string& source = "");
/// The codes of the source languages, then of the target languages, without repetition.
std::vector<std::string> all_languages(const Models& models);

}  // namespace sixfold::serve
