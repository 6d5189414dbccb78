#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "train/task.h"

namespace sixfold {

/// Options for decoding the outputs that validation metrics such as BLEU compare with references.
struct ScoredDecoding {
  int beam_size = 1;
  int64_t part_tokens = 0;  ///< maximum number of source tokens at a time; 0: the default of `SearchOptions`

  /// The number of source tokens, times beam size, that are decoded at a time.
  int64_t tokens() const;
};

/// Collective. Searches for the best output of each source. Outputs are token ids without the end token.
/// Sources are as for `search`. The model must be packed. Adds the outputs to `facts`; `references` are their
/// references, in any form.
std::vector<std::vector<int32_t>> decode_outputs(const Transformer& model,
                                                 const std::vector<std::vector<int32_t>>& sources,
                                                 std::span<const std::string> references,
                                                 const ScoredDecoding& options, const EvaluationRun& run,
                                                 OutputFacts& facts);

/// Returns an estimate, in bytes, of the key-value cache of the sources that are decoded at the same time.
/// `source_tokens(i)`: the number of tokens, or patches, of source i. It assumes outputs of maximum length.
int64_t decoding_bytes(const ModelConfig& config, int64_t sources,
                       const std::function<int64_t(int64_t)>& source_tokens, const ScoredDecoding& options);

}  // namespace sixfold
