#pragma once
#include <cstdint>
#include <optional>

namespace sixfold {

/// The random numbers of NumPy's `default_rng(seed)`, so that resampling draws the same sentences as
/// sacreBLEU: PCG64 (O'Neill 2014, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms
/// for Random Number Generation", XSL-RR 128/64), with NumPy's SeedSequence, which follows O'Neill's seed_seq.
class Pcg64 {
 public:
  explicit Pcg64(uint64_t seed);

  /// An integer in [0, n), n > 0, without bias (Lemire 2019, "Fast Random Integer Generation in an Interval"):
  /// one value of `integers(0, n)` or `choice(n)`.
  uint32_t below(uint32_t n);
  /// One value of `integers(2, dtype=bool)`.
  bool coin();

 private:
  __extension__ using Uint128 = unsigned __int128;

  void step() { state_ = state_ * multiplier + increment_; }
  uint64_t bits64();
  /// The lower half of 64 bits, then, in the next call, the upper half.
  uint32_t bits32();

  static constexpr Uint128 multiplier = Uint128{0x2360ED051FC65DA4} << 64 | 0x4385DF649FCCF645;
  Uint128 state_ = 0, increment_;
  std::optional<uint32_t> upper_half_;
  uint32_t coins_ = 0;  ///< the coins of 32 bits that are left, from the lowest bit on
  int coins_left_ = 0;
};

}  // namespace sixfold
