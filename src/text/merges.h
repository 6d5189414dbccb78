#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sixfold {

/// What two neighbouring tokens merge to, and the rank of the pair: lower ranks merge first.
struct Merge {
  int32_t rank, merged;
};

/// The merges of byte-pair encoding, by their pairs of tokens.
class Merges {
 public:
  /// Adds the next pair; the last of equal pairs counts, as in Hugging Face's tokenizers.
  void add(int32_t left, int32_t right, int32_t merged) {
    merges_.insert_or_assign(key_of(left, right), Merge{added_++, merged});
  }
  /// What two tokens merge to, or null.
  const Merge* find(int32_t left, int32_t right) const {
    const auto found = merges_.find(key_of(left, right));
    return found == merges_.end() ? nullptr : &found->second;
  }
  /// Merges the tokens of a word, pair by pair: always the pair of the lowest rank, of equal ones the first
  /// (Sennrich et al. 2016). Takes O(n log n) time for n tokens.
  std::vector<int32_t> apply(std::vector<int32_t> tokens) const;

 private:
  static uint64_t key_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  std::unordered_map<uint64_t, Merge> merges_;
  int32_t added_ = 0;
};

}  // namespace sixfold
