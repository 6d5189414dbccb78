#pragma once
#include "data/token_corpus.h"

namespace sixfold {

/// For each source id, up to `best` target ids, the most likely translations first. They are learned by IBM
/// model 1 (Brown et al. 1993, "The Mathematics of Statistical Machine Translation"): `iterations` steps of
/// expectation maximisation from uniform probabilities. A target token may also be aligned with no source
/// token. Translations with a probability below 1/10,000 are omitted.
std::vector<std::vector<int32_t>> learn_lexicon(const TokenCorpus& corpus, int source_vocab, int target_vocab,
                                                int best, int iterations = 5);

/// The `count` most frequent target ids, including the end token; of equally frequent ids, the lower first.
std::vector<int32_t> frequent_targets(const TokenCorpus& corpus, int target_vocab, int count);

}  // namespace sixfold
