#pragma once
#include <nlohmann/json.hpp>

#include "families/hugging_face.h"
#include "families/json/keys.h"
#include "families/json/text_generation.h"

// What the language models of Hugging Face share: tokenizer, special tokens, generation settings.

namespace sixfold {

/// What the file of a family says of a language model.
struct CausalModel {
  ModelConfig config = {};  ///< its architecture and `context_tokens`
  NameRules rules = {};
  SpecialIds usual = {};  ///< of a config.json without the keys
};

/// The architecture that they share: a decoder with norms before its sub-layers and one at the top.
Architecture causal_architecture();

/// Lets tokens attend to a window of so many tokens, themselves included; 0, or as many as a text has, is no
/// window. `key` is named with the file in the input error for a window of 1.
void set_window(int window, const std::string& key, ModelConfig& config);

/// The activation that a key names. Throws an input error if it is not supported.
Activation causal_activation(const JsonKeys& keys, const char* key, const char* usual);
/// The name of an activation there; none of one that `check_causal_model` refuses.
std::string_view causal_activation_name(Activation activation);

/// Reads a source with these keys of config.json and these tensors: tokenizer.json of byte-level BPE, or
/// tokenizer.model of SentencePiece, and the generation settings. Throws an input error that names the key,
/// file or tensor that is not supported.
Imported read_causal(const ImportSource& source, const JsonKeys& keys, const TensorMap& tensors,
                     CausalModel theirs);

/// Sets what the config says about the tokens of a text: its task, its special tokens, and whether texts begin
/// with the token `start` (-1: they do not). `settings`: how texts are generated, and conversations read.
void set_causal_tokens(ModelConfig& config, const Tokenizers& tokenizers, const SpecialIds& ids, int start,
                       LanguageModelSettings settings = {});

/// Throws an input error unless a model has what all language models there have. `rare`: options of the network
/// that its kind has, of those that most do not have (`need_usual_network`).
void check_causal_model(const ExportSource& source, std::string_view class_name,
                        std::initializer_list<std::string_view> rare);

/// The config of a model as transformers has it, without what only its own kind has.
ModelConfig exported_causal_config(const ModelConfig& config);

/// Writes the folder of a language model. `own_keys` of config.json are those that only its kind has.
Exported write_causal(const ExportSource& source, const std::string& folder, std::string_view class_name,
                      const CausalModel& theirs, const nlohmann::ordered_json& own_keys);

}  // namespace sixfold
