#include "text/sentence_piece_check.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// What is wrong with the model, to be told together with its name.
struct Flaw {
  std::string what;
};

void expect(bool condition, const char* what) {
  if (!condition) throw Flaw{what};
}

/// One field of a protobuf message (protobuf.dev, "Encoding").
struct Field {
  uint64_t number = 0;
  uint64_t value = 0;      ///< of a number
  std::string_view bytes;  ///< of a string or message
};

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

void check_piece(std::string_view message) {
  std::string_view text;
  float score = 0;
  while (const auto field = take_field(message)) {
    if (field->number == 1) text = field->bytes;
    if (field->number == 2) score = std::bit_cast<float>(static_cast<uint32_t>(field->value));
  }
  expect(!text.empty(), "it has an empty piece");
  expect(!first_invalid_utf8(text) && text.find('\0') == text.npos, "it has a piece that is not UTF-8 text");
  expect(std::isfinite(score), "it has a piece whose score is not a finite number");
}

uint32_t unit_at(std::string_view trie, size_t index) {
  uint32_t unit;
  std::memcpy(&unit, trie.data() + 4 * index, 4);
  if constexpr (std::endian::native == std::endian::big) unit = __builtin_bswap32(unit);
  return unit;
}

// The table is the trie's size in bytes, the trie, and the strings that its leaves point to, each ended by a
// zero. The trie is a double array (darts-clone): from unit i and byte c one goes to unit i ^ offset(i) ^ c.
void check_charsmap(std::string_view table) {
  if (table.empty()) return;
  expect(table.size() > 4, "its normalisation table is cut off");
  const uint32_t trie_size = unit_at(table, 0);
  expect(trie_size % 4 == 0 && trie_size >= 4 && trie_size < table.size() - 4,
         "its normalisation table has a trie of impossible size");
  const std::string_view trie = table.substr(4, trie_size), strings = table.substr(4 + trie_size);
  expect(strings.back() == '\0', "the strings of its normalisation table have no end");
  const size_t units = trie_size / 4;
  for (size_t i = 0; i < units; ++i) {
    const uint32_t unit = unit_at(trie, i);
    if (unit >> 31) {
      expect((unit & 0x7FFFFFFF) < strings.size(), "its normalisation table points outside its strings");
    } else {
      const size_t offset = size_t{unit >> 10} << ((unit & (1u << 9)) >> 6);
      expect(((i ^ offset) | 0xFF) < units, "its normalisation table points outside itself");
    }
  }
}

void check_normalizer(std::string_view message) {
  while (const auto field = take_field(message))
    if (field->number == 2) check_charsmap(field->bytes);
}

void check_trainer(std::string_view message) {
  while (const auto field = take_field(message))
    if (field->number == 3) expect(field->value >= 1 && field->value <= 4, "its kind of model is unknown");
}

void check_model(std::string_view message) {
  expect(!message.empty(), "it is empty");
  bool has_pieces = false, has_trainer = false, has_normalizer = false;
  while (const auto field = take_field(message)) {
    switch (field->number) {
      case 1:
        has_pieces = true, check_piece(field->bytes);
        break;
      case 2:
        has_trainer = true, check_trainer(field->bytes);
        break;
      case 3:
        has_normalizer = true, check_normalizer(field->bytes);
        break;
      case 5:
        check_normalizer(field->bytes);
        break;
      default:
        break;
    }
  }
  expect(has_pieces, "it has no pieces");
  expect(has_trainer && has_normalizer, "it is cut off: what follows the pieces is missing");
}

}  // namespace

void check_sentence_piece_model(std::string_view model, const std::string& origin) {
  try {
    check_model(model);
  } catch (const Flaw& flaw) {
    throw_input_error(
        "{}: this is no whole SentencePiece model: {}; give the .model or .spm file that spm_train wrote",
        origin, flaw.what);
  }
}

}  // namespace sixfold
