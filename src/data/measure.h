#pragma once
#include <optional>
#include <vector>

#include "data/corpus.h"
#include "data/token_corpus.h"

namespace sixfold {

struct MeasureOptions {
  InvalidUtf8 invalid = InvalidUtf8::replace;
  EncodeOptions encode;  ///< the limits beyond which pairs count as dropped
};

/// Computes the statistics of texts: the number of pairs, how many training would drop, how many are repeated,
/// and their lengths, in tokens if there are tokenizers, otherwise in words separated by white space. Throws as
/// `PairReader`.
CorpusReport measure_corpus(const std::vector<CorpusFiles>& files, const std::optional<Tokenizers>& tokenizers,
                            const MeasureOptions& options);

/// The smallest length that at least a share `part` (0 to 1) of the pairs does not exceed, from a histogram by
/// length.
int64_t quantile(const std::vector<int64_t>& histogram, double part);

}  // namespace sixfold
