#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sixfold {

/// How often each n-gram of a text occurs. The keys are views of the text, which must outlive them.
using NgramCounts = std::unordered_map<std::u32string_view, int64_t>;

/// Counts the n-grams of `units`, views that follow each other in one text: its words, or its characters.
NgramCounts count_ngrams(const std::vector<std::u32string_view>& units, size_t order);

/// The number of n-grams that are in both, each counted as often as in the poorer.
int64_t count_matches(const NgramCounts& a, const NgramCounts& b);

}  // namespace sixfold
