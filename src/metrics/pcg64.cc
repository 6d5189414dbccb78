#include "metrics/pcg64.h"

#include <array>
#include <bit>

namespace sixfold {
namespace {

/// Expands a seed to as many words as a generator needs.
class SeedSequence {
 public:
  explicit SeedSequence(uint64_t seed)
      : pool_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), 0, 0} {
    Hash hash{0x43B0D7E5, 0x931E8875};
    for (uint32_t& word : pool_) word = hash(word);
    for (size_t from = 0; from < pool_.size(); ++from)
      for (size_t to = 0; to < pool_.size(); ++to)
        if (from != to) pool_[to] = folded(0xCA01F9DD * pool_[to] - 0x4973F715 * hash(pool_[from]));
  }

  uint64_t next64() {
    const uint64_t low = next32();
    return low | uint64_t{next32()} << 32;
  }

 private:
  static uint32_t folded(uint32_t word) { return word ^ word >> 16; }

  /// A hash of a word that changes with each call.
  struct Hash {
    uint32_t key, multiplier;
    uint32_t operator()(uint32_t word) {
      word ^= key;
      key *= multiplier;
      return folded(word * key);
    }
  };

  uint32_t next32() { return output_(pool_[used_++ % pool_.size()]); }

  std::array<uint32_t, 4> pool_;
  Hash output_{0x8B51F9DD, 0x58F38DED};
  size_t used_ = 0;
};

}  // namespace

Pcg64::Pcg64(uint64_t seed) {
  SeedSequence words(seed);
  const auto next128 = [&] {
    const Uint128 high = words.next64();
    return high << 64 | words.next64();
  };
  const Uint128 begin = next128();
  increment_ = next128() << 1 | 1;
  step();
  state_ += begin;
  step();
}

uint64_t Pcg64::bits64() {
  step();
  const auto high = static_cast<uint64_t>(state_ >> 64), low = static_cast<uint64_t>(state_);
  return std::rotr(high ^ low, static_cast<int>(high >> 58));
}

uint32_t Pcg64::bits32() {
  if (upper_half_) {
    const uint32_t bits = *upper_half_;
    upper_half_.reset();
    return bits;
  }
  const uint64_t bits = bits64();
  upper_half_ = static_cast<uint32_t>(bits >> 32);
  return static_cast<uint32_t>(bits);
}

bool Pcg64::coin() {
  coins_ >>= 1;
  if (coins_left_-- == 0) {
    coins_ = bits32();
    coins_left_ = 31;
  }
  return coins_ & 1;
}

uint32_t Pcg64::below(uint32_t n) {
  if (n == 1) return 0;
  uint64_t product = uint64_t{bits32()} * n;
  if (static_cast<uint32_t>(product) < n) {
    const uint32_t rest = -n % n;  // of 2^32 values, which n does not divide evenly
    while (static_cast<uint32_t>(product) < rest) product = uint64_t{bits32()} * n;
  }
  return static_cast<uint32_t>(product >> 32);
}

}  // namespace sixfold
