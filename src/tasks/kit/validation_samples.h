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
/// The maximum size of a sample in bytes. Pairs with longer texts are not used; longer outputs are cut.
inline constexpr size_t most_sample_bytes = 200;

/// The first pairs, at most `most_samples`, in which both texts are short.
std::vector<size_t> sample_pairs(std::span<const std::string> sources, std::span<const std::string> targets);

/// The sample of a pair and of the model's output for its source.
ValidationSample sample_of(std::string input, std::string_view output, std::string reference);

/// Adds cross-attention to the first sample with few tokens on both sides, if there is one. The layer is
/// `ModelConfig::alignment_layer`, by default the one before the last, whose weights are most like alignments
/// (Garg et al. 2019). Buffers are allocated from `arena`.
void add_cross_attention(const Transformer& model, const Tokenizers& tokenizers, const PairLayout& layout,
                         std::span<ValidationSample> samples, const std::shared_ptr<Arena>& arena);

}  // namespace sixfold
