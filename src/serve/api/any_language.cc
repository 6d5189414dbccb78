#include "serve/api/any_language.h"

#include <algorithm>

namespace sixfold::serve {
namespace {

/// The code that the models have for a language, which the client may spell differently; empty: the models do
/// not have the language.
std::string known_code(const Models& models, const std::string& language) {
  return match_language(all_languages(models), language);
}

/// The languages that a model translates into `target`, and `target` itself; all languages if there is no such
/// model.
std::vector<std::string> languages_into(const Models& models, const std::string& target) {
  std::vector<std::string> codes = source_languages(models, target);
  if (codes.empty()) return all_languages(models);
  const std::string known = known_code(models, target);
  if (!known.empty() && std::find(codes.begin(), codes.end(), known) == codes.end()) codes.push_back(known);
  return codes;
}

/// Translates the texts whose language is `source`.
void translate_from(Service& service, const TranslationInput& input, const std::string& source,
                    std::vector<TranslatedInput>& answers) {
  std::vector<std::string> texts;
  std::vector<TranslatedInput*> translated;
  for (size_t i = 0; i < answers.size(); ++i)
    if (answers[i].detected.language == source) {
      texts.push_back(input.texts[i]);
      translated.push_back(&answers[i]);
    }
  const std::string known = known_code(service.models(), source);
  if (!known.empty() && known == known_code(service.models(), input.target)) {
    for (size_t i = 0; i < translated.size(); ++i) translated[i]->text = std::move(texts[i]);
    return;
  }
  const ServedPair pair = required_pair(service, source, input.target);
  std::vector<TextResult> results = translate(service, pair, texts, input.options);
  for (size_t i = 0; i < translated.size(); ++i) {
    translated[i]->text = std::move(results[i].text);
    translated[i]->alternatives = std::move(results[i].alternatives);
    translated[i]->cut = results[i].cut;
  }
}

}  // namespace

std::vector<TranslatedInput> translate_from_any(Service& service, const TranslationInput& input) {
  const std::vector<std::string> languages = languages_into(service.models(), input.target);
  if (languages.empty()) throw HttpError(400, "This server has no translation model.");
  service.require_few_bytes(input.texts);
  std::vector<TranslatedInput> answers;
  std::vector<std::string> sources;  // the languages of the texts, without repetition
  for (const std::string& text : input.texts) {
    answers.push_back({.detected = {input.source, 100}, .text = "", .alternatives = {}, .cut = 0});
    DetectedLanguage& detected = answers.back().detected;
    if (input.source.empty())
      detected = detect_language(text_of(text, answers.size() - 1, input.options), languages)[0];
    if (std::find(sources.begin(), sources.end(), detected.language) == sources.end())
      sources.push_back(detected.language);
  }
  for (const std::string& source : sources) translate_from(service, input, source, answers);
  return answers;
}

void add_cut_header(HttpAnswer& answer, const std::vector<TranslatedInput>& texts) {
  size_t cut = 0;
  for (const TranslatedInput& text : texts) cut += text.cut;
  if (cut > 0) answer.headers.emplace_back("X-Sixfold-Cut", std::to_string(cut));
}

}  // namespace sixfold::serve
