#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace sixfold {

/// The two vocabularies of a model.
struct Tokenizers {
  std::shared_ptr<const Tokenizer> source, target;
  bool joint = false;  ///< both are of one file, so that embeddings can be shared
};

/// Reads the files that the options give, or trains where they give none, on the lines of both sides together
/// if joint. Throws for files that can't be used and options that contradict each other.
Tokenizers make_tokenizers(const TokenizerOptions& options, const TextReader& source, const TextReader& target);
/// The same with text that is in memory.
Tokenizers make_tokenizers(const TokenizerOptions& options, std::span<const std::string> source,
                           std::span<const std::string> target);

/// Writes `tokenizer.spm` if joint, else `source.spm` and `target.spm`, into a folder that is there; whitespace
/// vocabularies end in `.vocab` instead.
void save_tokenizers(const Tokenizers& tokenizers, const std::string& folder);

/// Whether `save_tokenizers` gives a file this name.
bool is_tokenizer_file(std::string_view name);

/// Reads what `save_tokenizers` wrote. Throws when files are missing, or when more are there than one pair.
Tokenizers load_tokenizers(const std::string& folder);

}  // namespace sixfold
