#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Protobuf's wire format (protobuf.dev, "Encoding"), as far as a SentencePiece model's file needs it.
namespace sixfold::protobuf {

/// What is wrong with a message, to be told together with its name.
struct Flaw {
  std::string what;
};

void expect(bool condition, const char* what);

/// One field of a message.
struct Field {
  uint64_t number = 0;
  uint64_t value = 0;      ///< of a number
  std::string_view bytes;  ///< of a string or message
};

/// Takes the first field off a message; nothing at its end. Throws a `Flaw`.
std::optional<Field> take_field(std::string_view& message);

/// A field that holds bytes, to be appended to a message.
std::string bytes_field(uint64_t number, std::string_view bytes);

}  // namespace sixfold::protobuf
