#pragma once
#include "data/token_corpus.h"

namespace sixfold {

/// For each source id up to `best` target ids, the likeliest translations first, by word alignments of IBM's
/// model 1 (Brown et al. 1993, "The Mathematics of Statistical Machine Translation"): expectation maximisation
/// from even probabilities, `iterations` times; target symbols may also come from no source symbol. Those less
/// likely than 1 in 10,000 are left out.
std::vector<std::vector<int32_t>> learn_lexicon(const TokenCorpus& corpus, int source_vocab, int target_vocab,
                                                int best, int iterations = 5);

/// The `count` most frequent target ids, the end symbol counted, of equals the lower first.
std::vector<int32_t> frequent_targets(const TokenCorpus& corpus, int target_vocab, int count);

}  // namespace sixfold
