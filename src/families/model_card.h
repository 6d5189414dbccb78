#pragma once
#include <string>
#include <string_view>

#include "model/config.h"
#include "text/tokenizers.h"

namespace sixfold {

/// The text of README.md in an exported folder, in the format of the Hugging Face hub: what the model is, its
/// sizes and languages, how it was made (the provenance of `model_folder`), how to use it.
std::string model_card(const ModelConfig& config, const Tokenizers& tokenizers,
                       const std::string& model_folder);

/// The same for a language model. `class_name` is that of transformers: "LlamaForCausalLM".
std::string language_model_card(const ModelConfig& config, std::string_view class_name,
                                const std::string& model_folder);

/// The same for an encoder: of text, or of images, whose files are loaded by `processor`: "AutoTokenizer".
std::string encoder_card(const ModelConfig& config, std::string_view class_name, std::string_view processor,
                         const std::string& model_folder);

}  // namespace sixfold
