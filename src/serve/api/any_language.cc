#include "serve/api/any_language.h"

#include <algorithm>

namespace sixfold::serve {
namespace {

/// The code by which the models know a language that a client may have in another spelling; empty: none.
std::string known_code(const Models& models, const std::string& language) {
  return match_language(all_languages(models), language);
}

/// The languages from which there is a model, and the target itself; all languages if there is no model.
std::vector<std::string> languages_into(const Models& models, const std::string& target) {
  std::vector<std::string> codes = source_languages(models, target);
  if (codes.empty()) return all_languages(models);
  const std::string known = known_code(models, target);
  if (!known.empty() && std::find(codes.begin(), codes.end(), known) == codes.end()) codes.push_back(known);
  return codes;
}

/// Translates the texts of one language.
void translate_from(Service& service, const WantedTexts& wanted, const std::string& source,
                    std::vector<AnswerText>& answers) {
  std::vector<std::string> texts;
  std::vector<AnswerText*> chosen;
  for (size_t i = 0; i < answers.size(); ++i)
    if (answers[i].detected.language == source) {
      texts.push_back(wanted.texts[i]);
      chosen.push_back(&answers[i]);
    }
  const std::string known = known_code(service.models(), source);
  if (!known.empty() && known == known_code(service.models(), wanted.target)) {
    for (size_t i = 0; i < chosen.size(); ++i) chosen[i]->text = std::move(texts[i]);
    return;
  }
  const ServedPair pair = required_pair(service, source, wanted.target);
  std::vector<TextResult> results = translate(service, pair, texts, wanted.options);
  for (size_t i = 0; i < chosen.size(); ++i) {
    chosen[i]->text = std::move(results[i].text);
    chosen[i]->alternatives = std::move(results[i].alternatives);
    chosen[i]->cut = results[i].cut;
  }
}

}  // namespace

std::vector<AnswerText> translate_from_any(Service& service, const WantedTexts& wanted) {
  const std::vector<std::string> languages = languages_into(service.models(), wanted.target);
  if (languages.empty()) throw HttpError(400, "This server has no translation model.");
  service.require_few_bytes(wanted.texts);
  std::vector<AnswerText> answers;
  std::vector<std::string> found;  // languages, without repetition
  for (const std::string& text : wanted.texts) {
    answers.push_back({.detected = {wanted.source, 100}, .text = "", .alternatives = {}, .cut = 0});
    DetectedLanguage& detected = answers.back().detected;
    if (wanted.source.empty()) detected = detect_language(text, languages)[0];
    if (std::find(found.begin(), found.end(), detected.language) == found.end())
      found.push_back(detected.language);
  }
  for (const std::string& source : found) translate_from(service, wanted, source, answers);
  return answers;
}

void tell_cut(HttpAnswer& answer, const std::vector<AnswerText>& texts) {
  size_t cut = 0;
  for (const AnswerText& text : texts) cut += text.cut;
  if (cut > 0) answer.headers.emplace_back("X-Sixfold-Cut", std::to_string(cut));
}

}  // namespace sixfold::serve
