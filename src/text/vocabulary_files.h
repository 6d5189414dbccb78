#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

// Old versions of transformers, which did not write tokenizer.json, kept the vocabulary in other files. These
// functions convert them to a tokenizer.json for `load_hugging_face_tokenizer` as transformers does, without a
// post_processor.

/// Settings in tokenizer_config.json for a vocab.txt; the defaults are those of BertTokenizer.
struct BertVocabularySettings {
  bool do_lower_case = true;
  bool tokenize_chinese_chars = true;
  std::optional<bool> strip_accents = {};  ///< by default as `do_lower_case`
};

/// The tokenizer of a vocab.txt of BERT and DistilBERT, with a token on each line: of equal lines the last
/// counts. [UNK], [CLS], [SEP], [PAD] and [MASK] are special if the vocabulary has them. Throws an input error
/// that begins with `origin` if it has no [UNK], or a line is not UTF-8.
std::string bert_tokenizer_json(std::string_view vocab_txt, const BertVocabularySettings& settings,
                                const std::string& origin);

/// The tokenizer of a vocab.json and a merges.txt of GPT-2, RoBERTa and BART. RoBERTa's and BART's special
/// tokens and <|endoftext|> are special if the vocabulary has them. Throws an input error that begins
/// with `origin` if a file is malformed.
std::string byte_level_tokenizer_json(std::string_view vocab_json, std::string_view merges_txt,
                                      bool add_prefix_space, const std::string& origin);

}  // namespace sixfold
