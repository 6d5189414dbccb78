#include "tasks/translation/line_case.h"

#include <tuple>

#include "tasks/translation/settings.h"
#include "text/utf8.h"

namespace sixfold {

LineCase::LineCase(const ModelConfig& config, const Tokenizer& sources, const TranslateOptions& options)
    : is_on_(options.capitals), kept_word_(options.kept_word), tokenizer_(sources) {
  if (!is_on_) return;
  std::tie(source_, target_) = languages_between(settings_of<TranslationSettings>(config),
                                                 options.source_language, options.target_language);
  if (!options.case_languages.first.empty()) source_ = options.case_languages.first;
  if (!options.case_languages.second.empty()) target_ = options.case_languages.second;
}

std::optional<LineCase::SmallLine> LineCase::source_in_small_letters(const std::string& line) {
  if (!is_on_) return {};
  LanguageTokens::Parts parts{{}, line};
  if (trim_spaces(line).starts_with(">>")) {
    if (!tokens_) tokens_.emplace(tokenizer_);
    parts = tokens_->split(line);
  }
  const std::string text(parts.text);
  LetterCase source{.language = source_}, target{.language = target_};
  if (target_.empty() && parts.token.size() > 4)
    target.language = parts.token.substr(2, parts.token.size() - 4);  // of ">>tr<<"
  if (!is_in_capitals(text)) {
    const std::string word = kept_word_ ? only_word_with_small_letters(text) : "";
    if (word.empty() || word != kept_word_()) return {};
    source.kept = target.kept = word;
  }
  return SmallLine{line.substr(0, line.size() - text.size()) + in_small_letters(text, source), target};
}

std::string LineCase::target_in_small_letters(const std::string& text) const {
  return is_in_capitals(text) ? in_small_letters(text, {.language = target_}) : text;
}

}  // namespace sixfold
