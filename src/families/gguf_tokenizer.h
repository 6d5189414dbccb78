#pragma once
#include <memory>
#include <vector>

#include "formats/gguf.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The tokenizer in the metadata of a GGUF file, and the special tokens of its model.
struct GgufTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  int bos = -1, eos = -1;           ///< -1: none
  std::vector<int> more_ends = {};  ///< end tokens besides `eos`
  bool starts_texts = false;        ///< whether `bos` stands before each text
};

/// Reads the tokenizer: byte-level BPE ("gpt2"), as a tokenizer.json, or SentencePiece's BPE or unigram
/// ("llama", "t5"), as a model of SentencePiece. `rows` is the number of tokens of the model. Throws an input
/// error that names the key that is not supported.
GgufTokenizer read_gguf_tokenizer(const GgufFile& file, int rows);

}  // namespace sixfold
