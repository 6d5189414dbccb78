#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sixfold {

/// How often each n-gram of a text occurs. The keys are views of the text, which must outlive them.
using NgramCounts = std::unordered_map<std::u32string_view, int64_t>;

/// Counts the n-grams of `units`: the words or characters of one text, as consecutive views of it.
NgramCounts count_ngrams(const std::vector<std::u32string_view>& units, size_t order);

/// The number of common n-grams: the sum over n-grams of the smaller count.
int64_t count_matches(const NgramCounts& a, const NgramCounts& b);

}  // namespace sixfold
