#pragma once
#include <cstdint>
#include <vector>

namespace sixfold {

/// A permutation of 0 .. size-1 that is computed place by place and takes no memory: a Feistel network over the
/// next power of four, whose values beyond `size` are sent through it again (Black and Rogaway 2002, "Ciphers
/// with Arbitrary Finite Domains"). A function of its arguments alone, on every machine.
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, uint64_t stream);
  int64_t operator()(int64_t place) const;

 private:
  uint64_t size_;
  int half_bits_;
  uint32_t keys_[2];
  uint64_t stream_;
};

/// Some corpora as one sequence of pairs, epoch after epoch.
///
/// A corpus of weight w has round(w * pairs) places in each epoch: with 2 each of its pairs comes twice, with
/// 0.5 every other one, the rest in the next epoch. The places of all corpora are then shuffled together.
class EpochOrder {
 public:
  struct Part {
    int64_t pairs = 0;
    double weight = 1;
  };
  /// Throws an input error for a weight below 0, or where nothing is left.
  EpochOrder(const std::vector<Part>& parts, bool shuffle, uint64_t seed);

  /// Of an epoch.
  int64_t places() const { return begins_.back(); }
  /// The pair at a place of an epoch, numbered through all corpora.
  int64_t pair(int64_t epoch, int64_t place) const;

 private:
  std::vector<Part> parts_;
  std::vector<int64_t> begins_{0};  ///< of each part among the places, and their end
  bool shuffle_;
  uint64_t seed_;
};

}  // namespace sixfold
