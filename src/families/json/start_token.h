#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "families/family.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The token that the post_processor of a tokenizer.json, an object, puts before a text; -1: none. Null and
/// ByteLevel add nothing; a TemplateProcessing adds the tokens of its `single` template; a Sequence applies its
/// steps. Throws an input error that begins with `origin` for other kinds, and for templates that add anything
/// but one token before the text.
int start_of_post_processor(const nlohmann::json& tokenizer_json, const std::string& origin);

/// A post_processor that puts the token `id`, whose text is `text`, before a text; null if `id` is -1.
nlohmann::json post_processor_with_start(int id, const std::string& text);

/// The token that transformers puts before each text in a folder that has tokenizer.model of SentencePiece and
/// no tokenizer.json; -1: none. `add_bos_token` of tokenizer_config.json says whether there is one. If the key
/// is missing, there is one, according to the documentation of LlamaTokenizer. `tokenizer` gives the id of
/// `bos_token`. Throws an input error that names the key.
int start_of_sentence_piece(const std::filesystem::path& folder, const Tokenizer& tokenizer, Notes& notes);

}  // namespace sixfold
