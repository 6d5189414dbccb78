#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/api.h"
#include "text/read_text.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The tokenizers of a model.
struct Tokenizers {
  std::shared_ptr<const Tokenizer> source, target;
  bool joint = false;  ///< both use one vocabulary, so that embeddings can be tied
};

/// Throws an input error if no tokenizer can be trained with these options, whatever the text. Those that name
/// a file are not checked.
void validate(const TokenizerOptions& options);

/// Reads the tokenizers from the files that the options name. If they name none, trains them; joint ones on the
/// lines of both sides together. Throws an input error if a file can't be used or options contradict each
/// other.
SIXFOLD_API Tokenizers make_tokenizers(const TokenizerOptions& options, const TextReader& source,
                                       const TextReader& target);
/// The same for text in memory. A joint vocabulary normalizes targets as sources, or not at all.
SIXFOLD_API Tokenizers make_tokenizers(const TokenizerOptions& options, std::span<const std::string> source,
                                       std::span<const std::string> target);

/// The tokenizers of a model whose text is of one side only, as `options.normalization` says; the text and the
/// errors are those of `make_tokenizers`.
SIXFOLD_API Tokenizers make_tokenizer(const TokenizerOptions& options, const TextReader& text, TextSide side);

/// Writes `tokenizer.spm` if joint, else `source.spm` and `target.spm`, into an existing folder. The files of
/// other kinds end in `.vocab` (whitespace), `.characters`, `.bytes`, and `.json` or `.hf` (tokenizer_json).
SIXFOLD_API void save_tokenizers(const Tokenizers& tokenizers, const std::string& folder);

/// Whether `save_tokenizers` writes files of this name.
SIXFOLD_API bool is_tokenizer_file(std::string_view name);

/// Reads the files that `save_tokenizers` wrote. `target_side` is `exact` for a language model. Throws an input
/// error if files are missing, or if there are files of more than one pair.
SIXFOLD_API Tokenizers load_tokenizers(const std::string& folder, TextSide target_side = TextSide::target);

}  // namespace sixfold
