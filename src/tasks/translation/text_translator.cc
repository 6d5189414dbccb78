#include "tasks/translation/text_translator.h"

#include <tuple>

#include "tasks/translation/settings.h"

namespace sixfold {

TextTranslator text_translator(const Translator& translator, TranslateOptions options,
                               const TranslatedLineReceiver& see) {
  options.n_best = 1;
  options.details = {.alignment = true, .word_parts = true, .layer = options.details.layer};
  options.line_name = "text";
  options.kept_word = [&translator, options] { return translator.placeholder(options); };
  TextTranslator translate = [&translator, options, see](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> best;
    translator.translate(texts, options, [&](const TranslatedLine& line) {
      if (see) see(line);
      best.push_back({line.translations.front().text, line.translations.front().alignment});
    });
    return best;
  };
  translate.placeholder = options.kept_word;
  std::tie(translate.source_language, translate.target_language) = languages_between(
      settings_of<TranslationSettings>(translator.config()), options.source_language, options.target_language);
  return translate;
}

}  // namespace sixfold
