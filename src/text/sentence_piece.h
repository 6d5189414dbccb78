#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/read_text.h"
#include "text/tokenizer.h"

namespace sixfold {

/// Makes a tokenizer from the bytes of a SentencePiece model file. `origin` names the file in errors. Texts go
/// through `read_text` first, unless the model is marked as that of another program (`add_vocabulary`,
/// `mark_whole_texts`, `mark_imported`): then its own normalizer_spec alone decides, whatever the side. Throws
/// an input error if the model is incomplete, malformed (`check_sentence_piece_model`), or has no end token.
std::shared_ptr<const Tokenizer> load_sentence_piece(const std::string& model, const std::string& origin,
                                                     TextSide side);
/// The same for texts of several sides. Tokenizers that segment alike share what SentencePiece makes of the
/// model, which takes most of the time and of the memory.
std::vector<std::shared_ptr<const Tokenizer>> load_sentence_piece(const std::string& model,
                                                                  const std::string& origin,
                                                                  std::span<const TextSide> sides);

/// The bytes of a model that segments text as `model` does but takes its ids from `vocabulary` (the piece of
/// each id), as Marian and Hugging Face use SentencePiece. Pieces that are not in the vocabulary become its
/// "<unk>". Its end token is "</s>". A token of the form ">>deu<<" at the beginning of a text is not segmented:
/// it selects the target language. The vocabulary is appended as fields with the number 200, which
/// SentencePiece reserves for extensions, so that SentencePiece can still read the file. Throws an input error
/// if the vocabulary lacks "<unk>" or "</s>" or has a piece twice. `controls`: pieces of the vocabulary that
/// are control tokens, besides "</s>", "<s>" and "<pad>", such as those of languages.
std::string add_vocabulary(std::string model, const std::vector<std::string>& vocabulary,
                           const std::string& origin, const std::vector<std::string>& controls = {});

/// The bytes of a model that reads a text of several lines as a whole, as transformers does: line feeds are
/// characters like others. Without this mark each line is segmented on its own. Throws an input error if the
/// model is malformed.
std::string mark_whole_texts(std::string model, const std::string& origin);

/// The bytes of a model of another program, which is to read texts as that program does. Throws an input error
/// if the model is malformed.
std::string mark_imported(std::string model, const std::string& origin);

/// The bytes of a model whose normalizer_spec applies to sources alone: targets are not normalized.
std::string mark_plain_targets(const std::string& model);

/// The bytes of the model without the additions of the functions above, for other programs. Its normalizer_spec
/// is the one that applies to texts of that side; `exact` texts keep all spaces.
std::string plain_model(std::string_view model, TextSide side);

/// `text` with spaces in the place of SentencePiece's signs for them.
std::string without_space_marks(std::string_view text);

/// A text to train a model on.
struct TrainingText {
  TextReader sentences;
  TextSide side = TextSide::source;
  Normalization normalization = Normalization::identity;  ///< of this text
};

/// Trains a model on all sentences of `texts`, as `read_text` and their normalizations change them, and returns
/// the bytes of its file, which depend only on the arguments. The model normalizes as the first text says; of
/// two texts, the second is one of targets with the same normalization or with `identity`, and then targets are
/// not normalized. The ids of `<unk>`, `<s>` and `</s>` are 0, 1 and 2. If the text does not have `vocab_size`
/// pieces, the model has fewer, and a warning is printed. A sentence of more than 32 KiB is learned from in
/// parts, cut at spaces where it has some. Throws an input error if there is no text, or if
/// `vocab_size` is smaller than the number of characters to cover.
std::string train_sentence_piece(const TokenizerOptions& options, const std::vector<TrainingText>& texts);

}  // namespace sixfold
