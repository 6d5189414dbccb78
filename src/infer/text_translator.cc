#include "infer/text_translator.h"

namespace sixfold {

std::vector<std::vector<TranslatedText>> translate_texts(const Translator& translator,
                                                         const std::vector<std::string>& texts,
                                                         TranslateOptions options) {
  options.details = {.alignment = true};
  options.line_name = "text";
  std::vector<std::vector<TranslatedText>> all;
  translator.translate(texts, options, [&](const TranslatedLine& line) {
    std::vector<TranslatedText>& best = all.emplace_back();
    for (const Translation& translation : line.translations)
      best.push_back({translation.text, translation.alignment});
  });
  return all;
}

TextTranslator text_translator(const Translator& translator, TranslateOptions options) {
  options.n_best = 1;
  return [&translator, options](const std::vector<std::string>& texts) {
    std::vector<TranslatedText> best;
    for (std::vector<TranslatedText>& translations : translate_texts(translator, texts, options))
      best.push_back(std::move(translations.front()));
    return best;
  };
}

}  // namespace sixfold
