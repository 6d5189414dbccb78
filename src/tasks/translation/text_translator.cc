#include "tasks/translation/text_translator.h"

#include "tasks/translation/settings.h"

namespace sixfold {

TextTranslator text_translator(const Translator& translator, TranslateOptions options) {
  options.n_best = 1;
  options.details = {.alignment = true, .layer = options.details.layer};
  options.line_name = "text";
  TextTranslator translate = [&translator, options](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> best;
    translator.translate(texts, options, [&](const TranslatedLine& line) {
      best.push_back({line.translations.front().text, line.translations.front().alignment});
    });
    return best;
  };
  translate.placeholder = [&translator, options] { return translator.placeholder(options); };
  const auto settings = settings_of<TranslationSettings>(translator.config());
  const auto language = [](const std::string& given, const std::string& fallback) {
    return given.empty() ? fallback : given;
  };
  translate.source_language = language(options.source_language, settings.source_language);
  translate.target_language = language(options.target_language, settings.target_language);
  return translate;
}

}  // namespace sixfold
