#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The parts of protobuf's wire format (protobuf.dev, "Encoding") that SentencePiece model files and event
/// files of TensorBoard use.
namespace sixfold::protobuf {

/// An error in a message. The caller adds the name of the file.
struct Flaw {
  std::string what;
};

/// Throws a `Flaw` unless `condition` is true.
void expect(bool condition, const char* what);

/// One field of a message.
struct Field {
  uint64_t number = 0;
  uint64_t value = 0;      ///< of a number field; of a double or float field its bits
  std::string_view bytes;  ///< of a string or message field
};

/// Removes the first field from a message and returns it, or nothing at the end of the message. Throws a `Flaw`
/// if the message is malformed.
std::optional<Field> take_field(std::string_view& message);

/// The encoding of a field that holds bytes, a text or a message, to be appended to a message.
std::string bytes_field(uint64_t number, std::string_view bytes);
/// The encoding of a field that holds an integer that is not negative.
std::string number_field(uint64_t number, uint64_t value);
std::string double_field(uint64_t number, double value);
std::string float_field(uint64_t number, float value);

/// The bytes of a number, the least significant first.
template <class Bits>
std::string little_endian(Bits bits) {
  std::string bytes;
  for (size_t i = 0; i < sizeof bits; ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xFF);
  return bytes;
}

}  // namespace sixfold::protobuf
