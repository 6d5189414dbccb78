#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// What to do with spaces at both ends of a line and with repeated spaces.
enum class Spaces {
  as_trained,  ///< as the model's normalizer says; most models, including ours, remove them
  keep,        ///< keep all, whatever the normalizer says
};

/// Makes a tokenizer from the bytes of a SentencePiece model file. `origin` names the file in errors. Throws an
/// input error if the model is incomplete, malformed (`check_sentence_piece_model`), or has no end token.
std::shared_ptr<const Tokenizer> load_sentence_piece(std::string model, const std::string& origin,
                                                     Spaces spaces);

/// The bytes of a model that segments text as `model` does but takes its ids from `vocabulary` (the piece of
/// each id), as Marian and Hugging Face use SentencePiece. Pieces that are not in the vocabulary become its
/// "<unk>". Its end token is "</s>". A token of the form ">>deu<<" at the beginning of a text is not segmented:
/// it selects the target language. The vocabulary is appended as fields with the number 200, which
/// SentencePiece reserves for extensions, so that SentencePiece can still read the file. Throws an input error
/// if the vocabulary lacks "<unk>" or "</s>" or has a piece twice.
std::string add_vocabulary(std::string model, const std::vector<std::string>& vocabulary,
                           const std::string& origin);

/// The bytes of a model that reads a text of several lines as a whole, as transformers does: line feeds are
/// characters like others. Without this mark each line is segmented on its own. Throws an input error if the
/// model is malformed.
std::string mark_whole_texts(std::string model, const std::string& origin);

/// The bytes of the model without what `add_vocabulary` and `mark_whole_texts` appended.
std::string remove_extensions(std::string_view model);

/// Trains a model on all sentences of `texts` and returns the bytes of its file, which depend only on the
/// arguments. The ids of `<unk>`, `<s>` and `</s>` are 0, 1 and 2. If the text does not have `vocab_size`
/// pieces, the model has fewer, and a warning is printed. A sentence of more than 32 KiB is learned from in
/// parts, cut at spaces where it has some. Throws an input error if there is no text, or if
/// `vocab_size` is smaller than the number of characters to cover.
std::string train_sentence_piece(const TokenizerOptions& options, Normalization normalization,
                                 const std::vector<TextReader>& texts);

}  // namespace sixfold
