#pragma once
#include <cstdint>
#include <span>

namespace sixfold {

/// The number of edits by which a translation becomes a reference: words that are inserted, deleted or
/// replaced, and shifts of a block of words, each of which is one edit (Snover et al. 2006, "A Study of
/// Translation Edit Rate with Targeted Human Annotation"). Words are equal if their numbers are, which count
/// from 0. Shifts are found by the greedy search and the limits of Tercom as sacreBLEU 2 has them, so that the
/// number is the same: blocks of at most 10 words, moved by at most about 50 places, at most about 1,000
/// attempts, and distances of edits near the diagonal alone. Takes time and memory in proportion to the number
/// of words.
int64_t translation_edits(std::span<const uint32_t> translation, std::span<const uint32_t> reference);

}  // namespace sixfold
