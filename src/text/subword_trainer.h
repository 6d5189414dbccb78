#pragma once
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

// Both trainers merge the pair of neighbouring tokens that occurs most often, again and again (Sennrich et al.
// 2016); of equally frequent pairs that with the lower ids. They read `max_sentences` lines, evenly spread, and
// count words, so that memory grows with the number of different words; the time is about O(n log n) for n
// characters of different words. The result depends only on the text and the options: a tokenizer.json that
// Hugging Face's tokenizers opens, in which the ids of <unk>, <s> and </s> are 0, 1 and 2. A text that has too
// few pairs which occur `minimum_count` times gives a smaller vocabulary, and a warning is printed. Throws an
// input error if there is no text, or if `vocab_size` is too small for the tokens that every vocabulary has.

/// Byte-level BPE with the words of GPT-2: no text is unknown to it, and every text is decoded to itself.
std::string train_byte_pairs(const TokenizerOptions& options, const std::vector<TextReader>& texts);

/// WordPiece with BERT's words. Characters that are too rare for the vocabulary are unknown. Tokens are chosen
/// as for BPE; a text is segmented by the longest token first.
std::string train_word_pieces(const TokenizerOptions& options, const std::vector<TextReader>& texts);

}  // namespace sixfold
