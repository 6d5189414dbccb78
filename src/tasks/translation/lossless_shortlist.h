#pragma once
#include <atomic>
#include <optional>

#include "data/token_corpus.h"
#include "model_folder/shortlist.h"
#include "tasks/translation/measured_lines.h"
#include "text/tokenizer.h"

namespace sixfold {

/// Learns shortlists of several sizes from a training text, the smallest first, and returns the first with
/// which translations of `text` lose neither BLEU nor chrF. Reads at most a million pairs, spread over the
/// training text. Returns nothing, and logs the reason, if each loses, or if the text has too few lines to
/// tell. The model must be packed. When `stop` becomes nonzero, `Cancelled` is thrown.
std::optional<Shortlist> lossless_shortlist(const DecodeWorkspace& decoding, const Tokenizer& target,
                                            const TokenCorpus& train, const ReferencedText& text,
                                            SearchOptions options, const std::atomic<int>* stop);

/// The number of translations of the text that this makes at most.
inline constexpr int shortlist_measurements = 4;

}  // namespace sixfold
