#pragma once
#include <string>

#include "model/config.h"
#include "text/tokenizers.h"

namespace sixfold {

/// The tokenizers of a model folder. Throws an input error when they are not those that the config is sealed
/// to.
Tokenizers load_sealed_tokenizers(const std::string& folder, const ModelConfig& config);

}  // namespace sixfold
