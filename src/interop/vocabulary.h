#pragma once
#include <string>
#include <vector>

#include "text/tokenizers.h"

namespace sixfold {

/// The pieces of a vocabulary file in the order of their ids: JSON ("vocab.json") or YAML (Marian's ".yml"),
/// both a map of piece to id. Throws an input error where the ids are not 0, 1, 2, ... without gaps.
std::vector<std::string> read_vocabulary(const std::string& path);

/// The way back: the text of a "vocab.json". The work is linear in the vocabulary.
std::string vocabulary_json(const std::vector<std::string>& pieces);

/// The vocabulary cut or, with symbols that no text has, filled up to `size`: the rows of an embedding.
std::vector<std::string> fitted(std::vector<std::string> vocabulary, int64_t size);

/// The two sides of a model, of one file if they are the same.
Tokenizers make_tokenizer_pair(std::shared_ptr<const Tokenizer> source,
                               std::shared_ptr<const Tokenizer> target);

}  // namespace sixfold
