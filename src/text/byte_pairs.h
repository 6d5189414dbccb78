#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace sixfold {

/// What a tokenizer.json does not say, but the config of its model.
struct BytePairSettings {
  int32_t bos = -1;  ///< id of the start token; -1: none
  int32_t eos = 0;   ///< id of the end token
  int size = 0;      ///< number of rows of the model's embedding, at most that of the vocabulary
};

/// Makes the bytes of a tokenizer's file of a tokenizer.json of Hugging Face's tokenizers, which is kept as it
/// is: byte-level BPE (Sennrich et al. 2016; Radford et al. 2019), as GPT-2 and Llama 3 have it. Throws an
/// input error as `load_byte_pairs`.
std::string add_settings(std::string_view tokenizer_json, const BytePairSettings& settings,
                         const std::string& origin);

/// The tokenizer.json within the bytes of a tokenizer's file.
std::string_view tokenizer_json_of(std::string_view file);

/// Makes a tokenizer of the bytes that `add_settings` made. Special tokens are control tokens: text never
/// becomes one of them. `origin` names the file in errors. Throws an input error that names the key if the file
/// is malformed, or the tokenizer has a part that is not supported: another model than byte-level BPE, a
/// normalizer, a pre-tokenizer with an unknown pattern, or added tokens that are not special.
std::shared_ptr<const Tokenizer> load_byte_pairs(std::string_view file, const std::string& origin);

}  // namespace sixfold
