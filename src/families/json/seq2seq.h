#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/hugging_face.h"
#include "families/json/keys.h"
#include "families/json/text_generation.h"
#include "tasks/translation/settings.h"

// What the encoder-decoder models of Hugging Face share, but for Marian's: tokenizer, tokens around texts,
// languages, generation settings.

namespace sixfold {

/// The tokenizer of a folder, and the tokens around its texts.
struct Seq2SeqTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  TranslationSettings settings;  ///< `source_start` and `source_end`, and the folder's own languages
};

/// What the file of a family says of a model.
struct Seq2SeqModel {
  ModelConfig config = {};  ///< its architecture
  NameRules rules = {};
  SpecialIds usual = {.bos = 0, .eos = 2};  ///< of a config.json without the keys
  /// How the tokens of languages may be written (`TranslationSettings::language_token`); empty: there are none.
  std::vector<std::string> language_tokens = {};
  /// Reads the tokenizer of a folder without a tokenizer.json, for `rows` tokens of which `eos` ends texts.
  Seq2SeqTokenizer (*read_old_tokenizer)(const std::filesystem::path& folder, int rows, int eos);
  bool forces_end = false;  ///< `forced_eos_token_id` of a folder that has no generation_config.json
};

/// The architecture that those with the keys of BART share, but for their positions: `pre_norm` says where
/// norms are.
Architecture seq2seq_architecture(const JsonKeys& keys, bool pre_norm);

/// The keys of `seq2seq_architecture`.
nlohmann::ordered_json seq2seq_keys(const Architecture& a);

/// The rules of the embeddings of these: all tied, or three of them.
NameRules seq2seq_embedding_rules(const Architecture& a);

/// Reads a source with these keys of config.json and these tensors. Throws an input error that names the key,
/// file or tensor that is not supported.
Imported read_seq2seq(const ImportSource& source, const JsonKeys& keys, const TensorMap& tensors,
                      Seq2SeqModel theirs);

/// What the file of a family says of a model that is written.
struct Seq2SeqExport {
  std::string_view class_name, tokenizer_class;
  ModelConfig config;  ///< of the model there
  NameRules rules;
  int pad = 1;                 ///< id of the padding token
  nlohmann::ordered_json own;  ///< keys of config.json that only its kind has
  nlohmann::ordered_json own_of_tokenizer = nlohmann::ordered_json::object();  ///< and of tokenizer_config.json
  /// Writes the files of a tokenizer that `Seq2SeqModel::read_old_tokenizer` reads.
  void (*write_old_tokenizer)(const std::filesystem::path& folder, const Tokenizer& tokenizer) = nullptr;
};

/// The config of a model as transformers has it, without what only its own kind has. Throws an input error for
/// generation settings that have no form there, and for a tokenizer that is neither of a tokenizer.json nor an
/// `old_tokenizer` of the family's own files.
ModelConfig exported_seq2seq_config(const ExportSource& source, std::string_view class_name,
                                    bool old_tokenizer);

/// Writes the folder of a model.
Exported write_seq2seq(const ExportSource& source, const std::string& folder, const Seq2SeqExport& theirs);

}  // namespace sixfold
