#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// What becomes of spaces at the ends of a line and of doubled ones.
enum class Spaces {
  as_trained,  ///< what the model's normalizer says; ours and most others remove them
  keep,        ///< none is lost, whatever the normalizer says
};

/// The tokenizer in the bytes of a SentencePiece model file; `origin` names it in errors. Throws when the bytes
/// are no whole model, when what we can check of it would mislead the SentencePiece library, and when it lacks
/// an end symbol.
std::shared_ptr<const Tokenizer> load_sentence_piece(std::string model, const std::string& origin,
                                                     Spaces spaces);

/// Trains a model on all sentences of `texts` and returns the bytes of its file, a function of its arguments
/// alone.
/// `<unk>`, `<s>` and `</s>` are 0, 1 and 2. Where the text does not hold `vocab_size` pieces the model has
/// fewer, and a warning says so. Throws when there is no text, or when `vocab_size` is less than the text's
/// alphabet.
std::string train_sentence_piece(const TokenizerOptions& options, Normalization normalization,
                                 const std::vector<std::span<const std::string>>& texts);

}  // namespace sixfold
