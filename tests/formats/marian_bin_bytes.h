#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/protobuf.h"

namespace sixfold {

/// A tensor of a file in Marian's binary format.
struct MarianItem {
  std::string name;
  uint64_t type = 0x404;
  std::vector<int32_t> shape;
  std::string bytes;
};

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// The bytes of such a file, with its data at a multiple of 256, as Marian writes it.
inline std::string marian_bin(const std::vector<MarianItem>& items, uint64_t version = 1) {
  using protobuf::little_endian;
  constexpr size_t alignment = 256;
  const auto padding = [](size_t size) { return (alignment - size % alignment) % alignment; };
  std::string file = little_endian(version) + little_endian(uint64_t{items.size()}), names, shapes, data;
  for (const MarianItem& item : items) {
    const std::string padded = item.bytes + std::string(padding(item.bytes.size()), '\0');
    for (const uint64_t number : {item.name.size() + 1, size_t{item.type}, item.shape.size(), padded.size()})
      file += little_endian(number);
    names += item.name + '\0';
    shapes += bytes_of(item.shape);
    data += padded;
  }
  file += names + shapes;
  const uint64_t filled = padding(file.size() + sizeof(uint64_t));
  return file + little_endian(filled) + std::string(filled, '\0') + data;
}

}  // namespace sixfold
