#include "base/protobuf.h"

#include <bit>

namespace sixfold::protobuf {
namespace {

enum class WireType : uint64_t { number = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

std::string_view take(std::string_view& rest, uint64_t count) {
  expect(count <= rest.size(), "it ends in the middle of a field");
  const std::string_view taken = rest.substr(0, count);
  rest.remove_prefix(count);
  return taken;
}

uint64_t take_varint(std::string_view& rest) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint64_t byte = static_cast<unsigned char>(take(rest, 1)[0]);
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  throw Flaw{"it holds a number of more than 64 bits"};
}

uint64_t take_fixed(std::string_view& rest, int size) {
  uint64_t value = 0;
  for (const char c : take(rest, size)) value = value >> 8 | uint64_t{static_cast<unsigned char>(c)} << 56;
  return value >> (64 - 8 * size);
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

std::string tag(uint64_t number, WireType type) { return varint(number << 3 | static_cast<uint64_t>(type)); }

}  // namespace

void expect(bool condition, const char* what) {
  if (!condition) throw Flaw{what};
}

std::optional<Field> take_field(std::string_view& message) {
  if (message.empty()) return std::nullopt;
  const uint64_t key = take_varint(message);
  Field field;
  field.number = key >> 3;
  expect(field.number > 0, "it holds a field without a number");
  switch (static_cast<WireType>(key & 7)) {
    case WireType::number:
      field.value = take_varint(message);
      return field;
    case WireType::fixed64:
      field.value = take_fixed(message, 8);
      return field;
    case WireType::length_delimited:
      field.bytes = take(message, take_varint(message));
      return field;
    case WireType::fixed32:
      field.value = take_fixed(message, 4);
      return field;
  }
  throw Flaw{"it holds a field of unknown type"};
}

std::string bytes_field(uint64_t number, std::string_view bytes) {
  return tag(number, WireType::length_delimited) + varint(bytes.size()) + std::string(bytes);
}

std::string number_field(uint64_t number, uint64_t value) {
  return tag(number, WireType::number) + varint(value);
}

std::string double_field(uint64_t number, double value) {
  return tag(number, WireType::fixed64) + little_endian(std::bit_cast<uint64_t>(value));
}

std::string float_field(uint64_t number, float value) {
  return tag(number, WireType::fixed32) + little_endian(std::bit_cast<uint32_t>(value));
}

}  // namespace sixfold::protobuf
