#pragma once
#include <string>
#include <string_view>

#include "model/config.h"
#include "text/tokenizers.h"

namespace sixfold {

/// The text of README.md in an exported folder, in the format of the Hugging Face hub. It describes the model,
/// its sizes and languages, its provenance (that of `model_folder`) and its use.
std::string model_card(const ModelConfig& config, const Tokenizers& tokenizers,
                       const std::string& model_folder);

/// The model card of a language model. `class_name` is that of transformers: "LlamaForCausalLM".
std::string language_model_card(const ModelConfig& config, std::string_view class_name,
                                const std::string& model_folder);

/// The model card of an encoder of text or of images. `processor` is the class that prepares its inputs:
/// "AutoTokenizer".
std::string encoder_card(const ModelConfig& config, std::string_view class_name, std::string_view processor,
                         const std::string& model_folder);

}  // namespace sixfold
