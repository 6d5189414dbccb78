#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace sixfold {

/// Reads the bytes of a file from its beginning: numbers in little endian, and texts. Each function throws an
/// input error that names the file and the missing part if the file is too short. A length in the file is
/// compared with the number of bytes that are left before memory is allocated for it.
class ByteReader {
 public:
  /// `origin` is the name of the file. The bytes must outlive this, and what `take` returns.
  ByteReader(std::span<const std::byte> bytes, std::string origin)
      : bytes_(bytes), origin_(std::move(origin)) {}

  /// The next `count` bytes. `what` describes them in errors.
  std::span<const std::byte> take(uint64_t count, std::string_view what) {
    require(count <= left(), "{}: is truncated or damaged: {} needs {} bytes at byte {}, but the file has {}",
            origin_, what, count, place_, bytes_.size());
    const auto taken = bytes_.subspan(place_, count);
    place_ += count;
    return taken;
  }
  template <class Number>
  Number number(std::string_view what) {
    static_assert(std::is_arithmetic_v<Number>);
    Number value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string_view text(uint64_t length, std::string_view what) {
    const auto bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  size_t place() const { return place_; }
  size_t left() const { return bytes_.size() - place_; }
  const std::string& origin() const { return origin_; }

 private:
  std::span<const std::byte> bytes_;
  std::string origin_;
  size_t place_ = 0;
};

}  // namespace sixfold
