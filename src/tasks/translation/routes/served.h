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

/// A translation model that is served. Its name has the codes of its languages: "en-de". One that chooses its
/// languages by tokens translates between those that it was trained for, or, if that is not known, between any
/// two of them, whatever its name.
struct ServedTranslation final : ServedModel {
  static constexpr std::string_view task = TranslationSettings::task;

  /// The languages of requests that name the model and no language. Empty: a model of many languages has none.
  std::string source, target;
  std::vector<std::string> sources, targets;  ///< codes of all languages, as clients write them
  std::optional<int> alignment_layer;         ///< instead of that of the model

  /// Throws an input error if the folder is not a translation model, or if its languages are not known.
  ServedTranslation(const ModelSpec& spec, const EngineSettings& settings);
  const Translator& predictor() const override { return translator_; }
  void describe(nlohmann::ordered_json& entry) const override;

  bool has_many_languages() const { return !own_codes_.empty(); }
  /// Whether it translates from one of `sources` into one of `targets`.
  bool translates(const LanguagePair& languages) const;
  /// The codes of `sources` and `targets`, each once.
  std::vector<std::string> all_languages() const;
  /// "en-de, de-en", or "between any two of de, en, fr".
  std::string describe_pairs() const;
  /// The code of one of `sources` or `targets`; else empty. Of many languages it may be given as the model
  /// itself has it, or in another spelling (`client_code`).
  std::string known(const std::vector<std::string>& languages, const std::string& code) const;
  /// The code that the model itself has for a language, if it has many; else empty.
  std::string own_code(const std::string& code) const;

 private:
  Translator translator_;
  std::map<std::string, std::string> own_codes_;  // by those of clients
  std::vector<LanguagePair> pairs_;  // between which it translates; empty: between any of its languages
};
using TranslationModel = std::shared_ptr<const ServedTranslation>;

/// A model and two of its languages.
struct ServedPair {
  TranslationModel model;
  std::string source, target;

  /// The language by whose rules its sources are split into sentences.
  std::string splitting_language() const;
};
/// The pair of a model between two languages, of which empty ones are its own; null if it does not translate
/// between them, or if none are given and it has none of its own.
std::optional<ServedPair> pair_of(const TranslationModel& model, const std::string& source,
                                  const std::string& target);

/// How clients write the code of a language: "en" for eng_Latn, en_XX and en-US, "zh-Hant" for zho_Hant and
/// zh-TW. Regions are left out, and scripts that go without saying.
std::string client_code(const std::string& own);
/// The one of some languages that a client has by this code, or in another spelling; empty: none of them.
std::string spelled_as_in(const std::vector<std::string>& languages, const std::string& code);

/// The row of the server's table, with the routes of `routes`.
ServedTask served_translation(std::vector<Route> (*routes)(Service& service));
/// /v1/translate.
std::vector<Route> translate_routes(Service& service);

/// The name of a language in English: "German".
std::string language_name(const std::string& code);
/// The first model that translates between two languages. Throws an `HttpError` (400) that says which there are
/// if there is none.
ServedPair required_pair(Service& service, const std::string& source, const std::string& target);
/// The codes of the source languages, without repetition, in the order of the models; with a target, only of
/// those that are translated into it.
std::vector<std::string> source_languages(const Models& models, const std::string& target = "");
/// The same of target languages, of all or of those into which a source is translated.
std::vector<std::string> target_languages(const Models& models, const std::string& source = "");
/// Those and, after them, the codes of the target languages, without repetition.
std::vector<std::string> all_languages(const Models& models);

}  // namespace sixfold::serve
