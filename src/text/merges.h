#pragma once
#include <cstdint>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// What two neighbouring tokens merge to, and the rank of the pair: lower ranks merge first.
struct Merge {
  int32_t rank, merged;
};

/// The merges of byte-pair encoding, by their pairs of tokens.
class Merges {
 public:
  Merges();
  /// Adds the next pair; the last of equal pairs counts, as in Hugging Face's tokenizers.
  void add(int32_t left, int32_t right, int32_t merged);
  /// What two tokens merge to, or null.
  const Merge* find(int32_t left, int32_t right) const {
    const Entry& entry = entries_[place_of(key_of(left, right))];
    return entry.key == empty ? nullptr : &entry.merge;
  }
  /// Merges the tokens of a word, pair by pair: always the pair of the lowest rank, of equal ones the first
  /// (Sennrich et al. 2016). A merged token has the places of both. Takes O(n log n) time for n tokens.
  void apply(std::vector<LocatedToken>& tokens) const { apply(tokens, 0); }
  /// Only the tokens from `first` on.
  void apply(std::vector<LocatedToken>& tokens, size_t first) const;

 private:
  struct Entry {
    uint64_t key;
    Merge merge;
  };
  static constexpr uint64_t empty = ~uint64_t{0};
  static uint64_t key_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  /// Where the key stands, or may stand. The seed is random, so that no file can be made of keys that collide.
  size_t place_of(uint64_t key) const {
    uint64_t mixed = (key ^ seed_) * 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 32 ^ seed_) * 0xD6E8FEB86659FD93;
    size_t place = (mixed ^ mixed >> 32) & (entries_.size() - 1);
    while (entries_[place].key != key && entries_[place].key != empty)
      place = (place + 1) & (entries_.size() - 1);
    return place;
  }

  std::vector<Entry> entries_;  // a hash table, at most half full
  size_t used_ = 0;
  int32_t added_ = 0;
  uint64_t seed_;
};

}  // namespace sixfold
