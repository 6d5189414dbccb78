#pragma once
#include <string>
#include <vector>

#include "serve/api/detect.h"
#include "tasks/translation/routes/texts.h"

namespace sixfold::serve {

/// The texts of a request, and how to translate them.
struct TranslationInput {
  std::vector<std::string> texts;
  std::string source;  ///< empty: the language of each text is detected
  std::string target;
  TextOptions options = {};
};

/// The translation of one text of a `TranslationInput`.
struct TranslatedInput {
  DetectedLanguage detected;  ///< or the given language, with confidence 100
  std::string text;
  std::vector<std::string> alternatives;
  size_t cut = 0;  ///< number of sentences that were too long for the model
};

/// Translates each text from the given language or, if that is empty, from its detected language, which is one
/// of the source and target languages of the models. A text that is already in the target language stays as it
/// is, whatever spelling of the codes the client uses (`client_code`). Throws an `HttpError` as `translate` and
/// `required_pair`.
std::vector<TranslatedInput> translate_from_any(Service& service, const TranslationInput& input);

/// Adds the header X-Sixfold-Cut with the number of sentences that were too long, if there are any, for
/// interfaces that have no field for it.
void add_cut_header(HttpAnswer& answer, const std::vector<TranslatedInput>& texts);

}  // namespace sixfold::serve
