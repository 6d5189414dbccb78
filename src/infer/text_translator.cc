#include "infer/text_translator.h"

namespace sixfold {

TextTranslator text_translator(const Translator& translator, TranslateOptions options) {
  options.n_best = 1;
  options.details = {.alignment = true};
  options.line_name = "text";
  return [&translator, options](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> translations;
    translator.translate(texts, options, [&](const TranslatedLine& line) {
      const Translation& best = line.translations.front();
      translations.push_back({best.text, best.alignment});
    });
    return translations;
  };
}

}  // namespace sixfold
