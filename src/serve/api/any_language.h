#pragma once
#include <string>
#include <vector>

#include "serve/api/detect.h"
#include "tasks/translation/routes/texts.h"

namespace sixfold::serve {

/// What a client wants to be translated.
struct TranslationInput {
  std::vector<std::string> texts;
  std::string source;  ///< empty: the language of each text is detected
  std::string target;
  TextOptions options = {};
};

struct TranslatedInput {
  DetectedLanguage detected;  ///< or the language that was given
  std::string text;
  std::vector<std::string> alternatives;
  size_t cut = 0;  ///< number of sentences that were too long for the model
};

/// Translates texts, each from its language, which is looked for among the source and target languages of the
/// models. A text that is in the target language, which a model must know, stays as it is, in whatever spelling
/// the client has the codes (`client_code`). Throws an `HttpError`, as `translate` and `required_pair`.
std::vector<TranslatedInput> translate_from_any(Service& service, const TranslationInput& input);

/// Tells a client of an interface that has no field for it how many sentences were too long: in the header
/// X-Sixfold-Cut, if there are any.
void add_cut_header(HttpAnswer& answer, const std::vector<TranslatedInput>& texts);

}  // namespace sixfold::serve
