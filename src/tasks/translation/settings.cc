#include "tasks/translation/settings.h"

#include <vector>

#include "base/error.h"
#include "base/join.h"

namespace sixfold {
namespace {

/// The language code in the text of a token, such as "de" of "__de__" with the pattern "__*__", or "deu_Latn"
/// with "*"; empty if the token does not have this form.
std::string code_in(const std::string& token, const std::string& pattern) {
  const size_t star = pattern.find('*');
  const std::string before = pattern.substr(0, star), after = pattern.substr(star + 1);
  if (token.size() <= before.size() + after.size() || !token.starts_with(before) || !token.ends_with(after))
    return {};
  const std::string code = token.substr(before.size(), token.size() - before.size() - after.size());
  // With the pattern "*" the code must have a script or region, since ordinary words look like language codes.
  return is_model_language(code) && (pattern.size() > 1 || code.find('_') != code.npos) ? code : "";
}

int32_t token_of(const std::map<std::string, int32_t>& languages, const std::string& code, const char* key) {
  std::vector<std::string> known;
  for (const auto& [language, id] : languages) known.push_back(language);
  require(!code.empty(), "{} is not given; the model reads and writes: {}", key, join(known, " "));
  const auto found = languages.find(code);
  require(found != languages.end(), "{} '{}' is not one of the model's, which are: {}", key, code,
          join(known, " "));
  return found->second;
}

}  // namespace

std::map<std::string, int32_t> languages_of(const TranslationSettings& settings, const Tokenizer& tokenizer) {
  std::map<std::string, int32_t> languages;
  if (settings.language_token.empty()) return languages;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    if (const std::string code = code_in(tokenizer.token_text(id), settings.language_token); !code.empty())
      languages.emplace(code, id);
  return languages;
}

PairLayout layout_of(const TranslationSettings& settings, const GenerationConfig& rules,
                     const Tokenizer& tokenizer) {
  for (const auto* ids : {&settings.source_start, &settings.source_end, &settings.target_start})
    for (const int id : *ids)
      require(id < tokenizer.vocab_size(),
              "source_start, source_end and target_start: the id {} is not in the vocabulary of {}", id,
              tokenizer.vocab_size());
  PairLayout layout{.source_start = {settings.source_start.begin(), settings.source_start.end()},
                    .source_end = {settings.source_end.begin(), settings.source_end.end()}};
  layout.target_start = {settings.target_start.begin(), settings.target_start.end()};
  if (layout.target_start.empty() && rules.forced_first_token >= 0)
    layout.target_start = {rules.forced_first_token};
  if (settings.language_token.empty()) return layout;
  const auto languages = languages_of(settings, tokenizer);
  layout.source_start.insert(layout.source_start.begin(),
                             token_of(languages, settings.source_language, "source_language"));
  layout.target_language = token_of(languages, settings.target_language, "target_language");
  layout.target_start = {layout.target_language};
  return layout;
}

TranslationSettings with_languages(TranslationSettings settings, const std::string& source,
                                   const std::string& target) {
  const auto set = [&](std::string& language, const std::string& other, const char* key) {
    require(other.empty() || other == language || !settings.language_token.empty(),
            "{} '{}': the model does not choose its languages by tokens{}; leave it out", key, other,
            language.empty() ? "" : ", and its own is '" + language + "'");
    if (!other.empty()) language = other;
  };
  set(settings.source_language, source, "source_language");
  set(settings.target_language, target, "target_language");
  return settings;
}

}  // namespace sixfold
