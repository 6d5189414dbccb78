#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/hugging_face.h"
#include "families/json/keys.h"
#include "families/json/text_generation.h"
#include "tasks/translation/settings.h"

// Code that the encoder-decoder models of Hugging Face, except MarianMTModel, share: for the tokenizer, tokens
// around texts, languages and generation settings.

namespace sixfold {

/// The tokenizer of a folder, and the tokens around its texts.
struct Seq2SeqTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  TranslationSettings settings;  ///< `source_start` and `source_end`, and the languages of the folder
};

/// The properties of a model that the file of its family defines.
struct Seq2SeqModel {
  ModelConfig config = {};  ///< its architecture
  NameRules rules = {};
  SpecialIds default_ids = {.bos = 0, .eos = 2};  ///< special tokens of a config.json without their keys
  /// The possible forms of the tokens of languages (`TranslationSettings::language_token`); empty: there are
  /// none.
  std::vector<std::string> language_tokens = {};
  /// Reads the tokenizer of a folder without a tokenizer.json, for `rows` tokens of which `eos` ends texts.
  Seq2SeqTokenizer (*read_old_tokenizer)(const std::filesystem::path& folder, int rows, int eos);
  /// Whether `forced_eos_token_id` is set by default in a folder without generation_config.json.
  bool forces_end = false;
};

/// Sets the heads and the inner widths of both stacks by `encoder_attention_heads` and the like.
void set_stack_sizes(const JsonKeys& keys, Architecture& a);

/// The architecture, except positions, of models whose config.json has the keys of BART. `pre_norm`: whether
/// norms are before the sub-layers.
Architecture seq2seq_architecture(const JsonKeys& keys, bool pre_norm);

/// The keys that `seq2seq_architecture` reads.
nlohmann::ordered_json seq2seq_keys(const Architecture& a);

/// The rules of the embeddings of these models: either all are tied, or there are three of them.
NameRules seq2seq_embedding_rules(const Architecture& a);

/// Reads a source with these keys of config.json and these tensors. Throws an input error that names the key,
/// file or tensor that is not supported.
Imported read_seq2seq(const ImportSource& source, const JsonKeys& keys, const TensorMap& tensors,
                      Seq2SeqModel theirs);

/// The properties of an exported model that the file of its family defines.
struct Seq2SeqExport {
  std::string_view class_name, tokenizer_class;
  ModelConfig config;  ///< config of the exported model
  NameRules rules;
  int pad = 1;                 ///< id of the padding token
  nlohmann::ordered_json own;  ///< keys of config.json that are specific to the family
  /// Keys of tokenizer_config.json that are specific to the family.
  nlohmann::ordered_json own_of_tokenizer = nlohmann::ordered_json::object();
  /// Writes the files of a tokenizer that `Seq2SeqModel::read_old_tokenizer` reads.
  void (*write_old_tokenizer)(const std::filesystem::path& folder, const Tokenizer& tokenizer) = nullptr;
};

/// The config of the exported model, except for the properties that are specific to a family. Throws an input
/// error for generation settings that transformers does not have, and for a tokenizer that is not of a
/// tokenizer.json, unless the family has other tokenizer files (`old_tokenizer`).
ModelConfig exported_seq2seq_config(const ExportSource& source, std::string_view class_name,
                                    bool old_tokenizer);

/// Writes the folder of a model.
Exported write_seq2seq(const ExportSource& source, const std::string& folder, const Seq2SeqExport& theirs);

}  // namespace sixfold
