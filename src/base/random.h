#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sixfold {

/// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): 128 random bits as a pure
/// function of a counter and a key. There is no sequential state, so the random bits of an element of the model
/// do not depend on packing, threads or gradient accumulation.
struct Philox {
  using Counter = std::array<uint32_t, 4>;
  static constexpr uint32_t multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57;
  static constexpr uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
  static constexpr int rounds = 10;

  static constexpr Counter bits(Counter c, uint32_t key0, uint32_t key1) {
    for (int round = 0; round < rounds; ++round) {
      const uint64_t p0 = uint64_t{multiplier0} * c[0], p1 = uint64_t{multiplier1} * c[2];
      c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(p0)};
      key0 += weyl0;
      key1 += weyl1;
    }
    return c;
  }
};

/// A sequence of random numbers, for initial weights, permutations and samples. (seed, stream) identifies the
/// sequence; its numbers are those of Philox at counters 0, 1, 2, ... An object must not be shared by threads.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  uint32_t bits() {
    if (used_ == 4) {
      block_ = Philox::bits({static_cast<uint32_t>(count_), static_cast<uint32_t>(count_ >> 32),
                             static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                            static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32));
      ++count_;
      used_ = 0;
    }
    return block_[used_++];
  }
  /// Uniform in [0, 1), with a resolution of 32 bits.
  double uniform() { return bits() * 0x1p-32; }
  /// An integer in [0, n), n > 0.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(uint64_t{bits()} * n >> 32); }
  /// Normally distributed with mean 0 and variance 1 (Box-Muller).
  double normal();

 private:
  uint64_t seed_, stream_, count_ = 0;
  Philox::Counter block_{};
  int used_ = 4;
};

/// Puts the elements of a vector into a random order.
template <class T>
void shuffle(std::vector<T>& values, RandomStream& random) {
  for (auto i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[random.below(static_cast<uint32_t>(i))]);
}

/// The random numbers of a sample of the training data in an epoch. Each purpose has its own `stream`. The
/// default seed, 1, gives the numbers of older versions, in which they did not depend on the seed.
inline RandomStream random_of_sample(uint64_t seed, uint64_t stream, int64_t epoch, int64_t sample) {
  constexpr uint64_t golden_ratio = 0x9E3779B97F4A7C15;
  return {static_cast<uint64_t>(epoch) << 40 | static_cast<uint64_t>(sample),
          stream + (seed - 1) * golden_ratio};
}

}  // namespace sixfold
