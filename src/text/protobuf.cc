#include "text/protobuf.h"

namespace sixfold::protobuf {
namespace {

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

}  // namespace

void expect(bool condition, const char* what) {
  if (!condition) throw Flaw{what};
}

std::optional<Field> take_field(std::string_view& message) {
  if (message.empty()) return std::nullopt;
  const uint64_t tag = take_varint(message);
  Field field;
  field.number = tag >> 3;
  expect(field.number > 0, "it holds a field without a number");
  switch (tag & 7) {
    case 0:
      field.value = take_varint(message);
      break;
    case 1:
      field.value = take_fixed(message, 8);
      break;
    case 2:
      field.bytes = take(message, take_varint(message));
      break;
    case 5:
      field.value = take_fixed(message, 4);
      break;
    default:
      throw Flaw{"it holds a field of unknown type"};
  }
  return field;
}

std::string bytes_field(uint64_t number, std::string_view bytes) {
  constexpr uint64_t length_delimited = 2;
  return varint(number << 3 | length_delimited) + varint(bytes.size()) + std::string(bytes);
}

}  // namespace sixfold::protobuf
