#pragma once
#include <cstdint>
#include <vector>

namespace sixfold {

/// A pseudorandom permutation of 0, ..., size - 1 that is computed element by element and needs no memory: a
/// Feistel network over the next power of four, applied again while the result is not below `size` (Black and
/// Rogaway 2002, "Ciphers with Arbitrary Finite Domains"). It depends only on its arguments and is the same on
/// every machine.
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

/// The order of the samples of one or several corpora in each epoch.
///
/// A corpus of weight w occurs round(w * samples) times in each epoch. With weight 2, each of its samples
/// occurs twice; with weight 0.5, half of the samples occur in one epoch and the other half in the next. The
/// samples of all corpora are shuffled together.
class EpochOrder {
 public:
  struct Part {
    int64_t samples = 0;
    double weight = 1;
  };
  /// Throws an input error for a negative weight, or if no samples are left.
  EpochOrder(const std::vector<Part>& parts, bool shuffle, uint64_t seed);

  /// The number of samples of an epoch.
  int64_t places() const { return begins_.back(); }
  /// The number of the sample at the index `place` in the order of an epoch. Samples are numbered consecutively
  /// over all corpora.
  int64_t sample(int64_t epoch, int64_t place) const;

 private:
  std::vector<Part> parts_;
  std::vector<int64_t> begins_{0};  ///< first place of each part, and the end
  bool shuffle_;
  uint64_t seed_;
};

}  // namespace sixfold
