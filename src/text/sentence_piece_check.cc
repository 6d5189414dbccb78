#include "text/sentence_piece_check.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/protobuf.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using protobuf::expect;
using protobuf::Flaw;
using protobuf::take_field;

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

// The table consists of the trie's size in bytes, the trie, and the strings that its leaves point to, each
// terminated by a zero byte. The trie is a double array (darts-clone): the child of unit i for byte c is unit
// i ^ offset(i) ^ c.
void check_charsmap(std::string_view table) {
  if (table.empty()) return;
  expect(table.size() > 4, "its normalization table is truncated");
  const uint32_t trie_size = unit_at(table, 0);
  expect(trie_size % 4 == 0 && trie_size >= 4 && trie_size < table.size() - 4,
         "its normalization table has a trie of impossible size");
  const std::string_view trie = table.substr(4, trie_size), strings = table.substr(4 + trie_size);
  expect(strings.back() == '\0', "the strings of its normalization table are not terminated");
  const size_t units = trie_size / 4;
  for (size_t i = 0; i < units; ++i) {
    const uint32_t unit = unit_at(trie, i);
    if (unit >> 31) {
      expect((unit & 0x7FFFFFFF) < strings.size(), "its normalization table points outside its strings");
    } else {
      const size_t offset = size_t{unit >> 10} << ((unit & (1u << 9)) >> 6);
      expect(((i ^ offset) | 0xFF) < units, "its normalization table points outside itself");
      const bool has_leaf = (unit >> 8 & 1) != 0;  // which is read whether or not it is marked as one
      expect(!has_leaf || (unit_at(trie, i ^ offset) & 0x7FFFFFFF) < strings.size(),
             "its normalization table points outside its strings");
    }
  }
}

void check_normalizer(std::string_view message) {
  while (const auto field = take_field(message))
    if (field->number == 2) check_charsmap(field->bytes);
}

void check_trainer(std::string_view message) {
  while (const auto field = take_field(message))
    if (field->number == 3) expect(field->value >= 1 && field->value <= 4, "its model type is unknown");
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
  expect(has_trainer && has_normalizer, "it is truncated after its pieces");
}

}  // namespace

void check_sentence_piece_model(std::string_view model, const std::string& origin) {
  try {
    check_model(model);
  } catch (const Flaw& flaw) {
    throw_input_error("{}: not a valid SentencePiece model: {}; give a .model or .spm file made by spm_train",
                      origin, flaw.what);
  }
}

}  // namespace sixfold
