#include "tasks/translation/text_translator.h"

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
  return translate;
}

}  // namespace sixfold
