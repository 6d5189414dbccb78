#pragma once
#include <nlohmann/json.hpp>

#include "families/hugging_face.h"
#include "families/json/keys.h"
#include "families/json/text_generation.h"

// Code that the language models of Hugging Face share: for the tokenizer, special tokens and generation
// settings.

namespace sixfold {

/// The properties of a language model that the file of its family defines.
struct CausalModel {
  ModelConfig config = {};  ///< its architecture and `context_tokens`
  NameRules rules = {};
  SpecialIds default_ids = {};  ///< special tokens of a config.json without their keys
};

/// The architecture that all of them share: a decoder with norms before its sub-layers and a norm at its top.
Architecture causal_architecture();

/// Restricts attention to a sliding window of `window` tokens, which includes the token itself. A window of 0,
/// or one that covers a whole text, is no restriction. `key` names the file and the key in the input error for
/// a window of 1.
void set_window(int window, const std::string& key, ModelConfig& config);

/// The activation that a key names. Throws an input error if the activation is not supported.
Activation causal_activation(const JsonKeys& keys, const char* key, const char* default_value);
/// The name of an activation in transformers; empty for one that `check_causal_model` refuses.
std::string_view causal_activation_name(Activation activation);

/// Reads a model with these keys of config.json and these tensors. Its tokenizer is a tokenizer.json of
/// byte-level BPE or a tokenizer.model of SentencePiece. Throws an input error that names the key, file or
/// tensor that is not supported.
Imported read_causal(const ImportSource& source, const JsonKeys& keys, const TensorMap& tensors,
                     CausalModel theirs);

/// Sets what the config says about the tokens of a text: its task, its special tokens, and whether texts begin
/// with the token `start` (-1: they do not). `settings`: the settings of generation and of conversations.
void set_causal_tokens(ModelConfig& config, const Tokenizers& tokenizers, const SpecialIds& ids, int start,
                       LanguageModelSettings settings = {});

/// Throws an input error if a model has properties that language models in transformers do not have.
/// `supported`: the rare options of the network that its family supports (`need_usual_network`).
void check_causal_model(const ExportSource& source, std::string_view class_name,
                        std::initializer_list<std::string_view> supported);

/// The config of the exported model, except for the properties that are specific to a family.
ModelConfig exported_causal_config(const ModelConfig& config);

/// Writes the folder of a language model. `own_keys` are the keys of config.json that are specific to the
/// family.
Exported write_causal(const ExportSource& source, const std::string& folder, std::string_view class_name,
                      const CausalModel& theirs, const nlohmann::ordered_json& own_keys);

}  // namespace sixfold
