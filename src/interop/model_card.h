#pragma once
#include <string>

#include "model/config.h"
#include "text/tokenizers.h"

namespace sixfold {

/// What README.md of an exported folder tells, in the form that the Hugging Face hub reads: what the model is,
/// its sizes and languages, how it was made (the history of `model_folder`), how it is used.
std::string model_card(const ModelConfig& config, const Tokenizers& tokenizers,
                       const std::string& model_folder);

}  // namespace sixfold
