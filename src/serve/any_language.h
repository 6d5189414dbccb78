#pragma once
#include <string>
#include <vector>

#include "serve/detect.h"
#include "serve/service.h"

namespace sixfold::serve {

/// What a client wants to be translated.
struct WantedTexts {
  std::vector<std::string> texts;
  std::string source;  ///< empty: the language of each text is detected
  std::string target;
  TextOptions options = {};
};

struct AnswerText {
  DetectedLanguage detected;  ///< or the language that was given
  std::string text;
  std::vector<std::string> alternatives;
};

/// Translates texts, each from its language. A text that is in the target language stays as it is. Throws an
/// `HttpError`, as `Service::translate` and `Service::model_between`.
std::vector<AnswerText> translate_from_any(Service& service, const WantedTexts& wanted);

}  // namespace sixfold::serve
