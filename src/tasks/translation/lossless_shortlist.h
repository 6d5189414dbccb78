#pragma once
#include <atomic>
#include <optional>

#include "data/token_corpus.h"
#include "model_folder/shortlist.h"
#include "tasks/translation/measured_lines.h"
#include "text/tokenizer.h"

namespace sixfold {

/// Learns shortlists of several sizes from a training text, the smallest first, and returns the first with
/// which translations of `text` lose neither BLEU nor chrF. Reads so many pairs, spread over the training text,
/// as take some seconds. Returns nothing, and logs the reason, if each list loses or is too long, or if the
/// text has too few lines to tell. The model must be packed. When `stop` becomes nonzero, `Cancelled` is
/// thrown.
std::optional<Shortlist> lossless_shortlist(const DecodeWorkspace& decoding, const Tokenizer& target,
                                            const TokenCorpus& train, const ReferencedText& text,
                                            SearchOptions options, const std::atomic<int>* stop);

/// The approximate cost, as the number of tokens that training processes in the same time, and the memory.
int64_t shortlist_tokens(const TokenCorpus& train, const ReferencedText& text, int beam_size);
int64_t shortlist_bytes(const TokenCorpus& train);

}  // namespace sixfold
