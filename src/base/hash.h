#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

/// The 128-bit XXH3 hash of `bytes` as 32 lower-case hexadecimal digits, the most significant first (as printed
/// by `xxhsum -H2`). It distinguishes files but is not cryptographic.
std::string hash_hex(std::string_view bytes);

/// Computes the same hash incrementally.
class HashStream {
 public:
  HashStream();
  ~HashStream();
  HashStream(const HashStream&) = delete;
  HashStream& operator=(const HashStream&) = delete;

  void add(std::span<const std::byte> bytes);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The 64-bit XXH3 hash.
uint64_t hash_of(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace sixfold
