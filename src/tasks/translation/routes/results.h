#pragma once
#include <nlohmann/json.hpp>

#include "tasks/translation/routes/texts.h"

namespace sixfold::serve {

/// A text and its translations, with the details that were wanted.
nlohmann::ordered_json result_json(const TextResult& text, const ExtraOutputs& details);

}  // namespace sixfold::serve
