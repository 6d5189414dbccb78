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

/// The bytes of a model that divides text as `model` does but whose ids are those of `vocabulary` (the piece of
/// each id), as Marian and Hugging Face use SentencePiece. Pieces of text that it lacks become its "<unk>"; its
/// end symbol is
/// "</s>". A symbol of the form ">>deu<<" at the beginning of a text is not divided: it names the language
/// wanted. The vocabulary is appended as fields of a number that SentencePiece leaves to others (200), so that
/// the file stays one that SentencePiece reads. Throws an input error where the vocabulary lacks "<unk>" or
/// "</s>" or has a piece twice.
std::string add_vocabulary(std::string model, const std::vector<std::string>& vocabulary,
                           const std::string& origin);

/// The model without a vocabulary that `add_vocabulary` added.
std::string remove_vocabulary(std::string_view model);

/// Trains a model on all sentences of `texts` and returns the bytes of its file, a function of its arguments
/// alone.
/// `<unk>`, `<s>` and `</s>` are 0, 1 and 2. Where the text does not hold `vocab_size` pieces the model has
/// fewer, and a warning says so. Throws when there is no text, or when `vocab_size` is less than the text's
/// alphabet.
std::string train_sentence_piece(const TokenizerOptions& options, Normalization normalization,
                                 const std::vector<TextReader>& texts);

}  // namespace sixfold
