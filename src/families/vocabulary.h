#pragma once
#include <string>
#include <vector>

#include "text/tokenizers.h"

namespace sixfold {

/// Parses the text of a vocabulary file, JSON if `path` ends in ".json" ("vocab.json"), else YAML (Marian's
/// ".yml"), which maps pieces to ids. Returns the pieces in the order of their ids. Throws an input error if
/// the ids are not 0, 1, 2, ... without gaps.
std::vector<std::string> parse_vocabulary(const std::string& text, const std::string& path);

/// Reads and parses a vocabulary file that a user names.
std::vector<std::string> read_vocabulary(const std::string& path);

/// The text of a "vocab.json" with these pieces. Takes linear time.
std::string vocabulary_json(const std::vector<std::string>& pieces);

/// The vocabulary truncated to `size`, the number of rows of an embedding, or padded to it with pieces that
/// occur in no text.
std::vector<std::string> resized_vocabulary(std::vector<std::string> vocabulary, int64_t size);

/// The tokenizers of a model, joint if both are the same.
Tokenizers make_tokenizer_pair(std::shared_ptr<const Tokenizer> source,
                               std::shared_ptr<const Tokenizer> target);

}  // namespace sixfold
