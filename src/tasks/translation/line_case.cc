#include "tasks/translation/line_case.h"

#include "tasks/translation/settings.h"
#include "text/capitals.h"
#include "text/utf8.h"

namespace sixfold {

LineCase::LineCase(const ModelConfig& config, const Tokenizer& sources, const TranslateOptions& options)
    : is_on_(options.capitals),
      source_(options.source_case),
      target_(options.target_case),
      tokenizer_(sources) {
  if (!is_on_) return;
  const auto [source, target] = languages_between(settings_of<TranslationSettings>(config),
                                                  options.source_language, options.target_language);
  if (source_.language.empty()) source_.language = source;
  if (target_.language.empty()) target_.language = target;
}

std::optional<std::string> LineCase::source_in_small_letters(const std::string& line) {
  if (!is_on_) return {};
  size_t text = 0;  // where it begins
  if (trim_spaces(line).starts_with(">>")) {
    if (!tokens_) tokens_.emplace(tokenizer_);
    text = line.size() - tokens_->split(line).text.size();
  }
  if (!is_in_capitals(line.substr(text), source_)) return {};
  return line.substr(0, text) + in_small_letters(line.substr(text), source_);
}

std::string LineCase::target_in_small_letters(const std::string& text) const {
  return is_in_capitals(text, target_) ? in_small_letters(text, target_) : text;
}

std::string LineCase::target_in_capitals(const std::string& text) const { return in_capitals(text, target_); }

}  // namespace sixfold
