#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/corpus.h"
#include "model/transformer.h"
#include "text/pair_layout.h"
#include "text/tokenizers.h"
#include "train/task.h"

namespace sixfold {

inline constexpr size_t most_samples = 4;
/// A text with more bytes is no sample; a longer output is cut.
inline constexpr size_t most_sample_bytes = 200;

/// The first pairs, at most `most_samples`, in which both texts are short.
std::vector<size_t> sample_pairs(std::span<const std::string> sources, std::span<const std::string> targets);

/// The sample of a pair and of the model's output for its source.
ValidationSample sample_of(std::string input, std::string_view output, std::string reference);

/// Adds cross-attention to the first sample of which both sides have few tokens, if there is one. The layer is
/// the one before the last, whose weights are most like alignments (Garg et al. 2019), or the only one. Buffers
/// come from `arena`.
void add_cross_attention(const Transformer& model, const Tokenizers& tokenizers, const PairLayout& layout,
                         std::span<ValidationSample> samples, const std::shared_ptr<Arena>& arena);

}  // namespace sixfold
