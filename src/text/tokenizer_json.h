#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace sixfold {

// Tokenizers of Hugging Face's tokenizers, as their tokenizer.json describes them. A text passes these stages:
//
//   added tokens    text/json/added_tokens.h    found in the text before anything else is done with it, or
//   after normalizer      text/json/normalizers.h     Unicode forms, lower case, spaces, ... pre_tokenizer
//   text/json/pre_tokenizers.h  the words that are segmented on their own model text/json/subword_models.h BPE,
//   WordPiece or Unigram: the tokens of a word decoder         text/json/decoders.h        tokens to text
//
// Each stage has a table of the types that are supported. What is not in a table is refused by name. What a
// post_processor puts around a text is read by `read_text_templates` (text/text_templates.h), since models add
// it and not tokenizers. Texts are read as they are, as a whole, whatever side they are of.
//
// An importer calls `load_hugging_face_tokenizer` with the text of tokenizer.json. Old folders without one have
// other files, of which `bert_tokenizer_json` and `byte_level_tokenizer_json` (text/vocabulary_files.h) make
// the text of one.

/// What a tokenizer.json does not say, but the config of its model.
struct TokenizerJsonSettings {
  int32_t bos = -1;  ///< id of the start token; -1: none
  int32_t eos = 0;   ///< id of the end token
  /// Number of rows of the model's embedding. Tokens beyond it are left out; rows beyond the vocabulary are
  /// unused tokens.
  int size = 0;
};

/// The tokenizer of a tokenizer.json whose model has these settings. `origin` names the file in errors. Special
/// tokens are control tokens: text becomes one of them only in `encode_with_special_tokens`. `unk` is the
/// unknown token of the file, or the end token if nothing is unknown to it. What is strange but harmless, such
/// as bytes without a token, is a warning. Throws an input error that names the key if the file is malformed or
/// has a part that is not supported.
std::shared_ptr<const Tokenizer> load_hugging_face_tokenizer(std::string_view tokenizer_json,
                                                             const TokenizerJsonSettings& settings,
                                                             const std::string& origin);

/// The bytes of a tokenizer's file in a model folder: the tokenizer.json as it is, after a line with the
/// settings. Throws an input error as `load_hugging_face_tokenizer`.
std::string add_settings(std::string_view tokenizer_json, const TokenizerJsonSettings& settings,
                         const std::string& origin);

/// Whether the bytes of a tokenizer's file begin with settings.
bool has_settings(std::string_view file);

/// The tokenizer.json within the bytes of a tokenizer's file.
std::string_view tokenizer_json_of(std::string_view file);

/// The tokenizer of the bytes of a tokenizer's file: those of `add_settings`, or a tokenizer.json as it is, as
/// those that are trained here and those of tokenizers. The latter has its start and end tokens by their usual
/// names, such as "</s>" and "[SEP]"; throws an input error if it has none of these.
std::shared_ptr<const Tokenizer> load_tokenizer_json(std::string_view file, const std::string& origin);

}  // namespace sixfold
