#pragma once
#include <optional>
#include <vector>

#include "data/corpus.h"
#include "data/token_corpus.h"

namespace sixfold {

struct MeasureOptions {
  InvalidUtf8 invalid = InvalidUtf8::replace;
  EncodeOptions encode;  ///< what would be dropped is counted as dropped
};

/// What texts are like: how many pairs, which of them training would drop, how many stand there twice, how long
/// they are; in pieces of the tokenizers, or, without any, in words parted by white space. Throws as
/// `PairReader`.
CorpusReport measure_corpus(const std::vector<CorpusFiles>& files, const std::optional<Tokenizers>& tokenizers,
                            const MeasureOptions& options);

/// The length that `part` (0 to 1) of the pairs do not exceed, of a histogram by length.
int64_t quantile(const std::vector<int64_t>& histogram, double part);

}  // namespace sixfold
