#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace sixfold {

// Tokenizers of Hugging Face's tokenizers, as their tokenizer.json describes them. A text passes these stages:
//
//   added tokens   text/json/added_tokens.h    found in the text, or in the normalized text
//   normalizer     text/json/normalizers.h     Unicode forms, lower case, spaces, ...
//   pre_tokenizer  text/json/pre_tokenizers.h  splits a text into words, which are segmented on their own
//   model          text/json/subword_models.h  BPE, WordPiece or Unigram: segments a word into tokens
//   decoder        text/json/decoders.h        converts tokens to text
//
// Each stage has a table of the supported types; an error names a type that is not supported. The tokens that a
// post_processor puts around a text are read by `read_text_templates` (text/text_templates.h), since they are
// added by models and not by tokenizers. Texts are encoded as a whole, without `read_text`, for every
// `TextSide`.
//
// An importer calls `load_hugging_face_tokenizer` with the text of tokenizer.json. Old folders without one have
// other files, of which `bert_tokenizer_json` and `byte_level_tokenizer_json` (text/vocabulary_files.h) make
// the text of one.

/// Settings that are not in a tokenizer.json, but in the config of its model.
struct TokenizerJsonSettings {
  int32_t bos = -1;  ///< id of the start token; -1: none
  int32_t eos = 0;   ///< id of the end token
  /// Number of rows of the model's embedding. Tokens beyond it are left out; rows beyond the vocabulary are
  /// unused tokens.
  int size = 0;
};

/// The tokenizer of a tokenizer.json whose model has these settings. `origin` names the file in errors. Special
/// tokens are control tokens: text becomes one of them only in `encode_with_special_tokens`. `unk` is the
/// unknown token of the file, or the end token if it has none. Harmless flaws, such as bytes without a token,
/// are reported by a warning. Throws an input error that names the key if the file is malformed or has a part
/// that is not supported.
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
