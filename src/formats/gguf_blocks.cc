#include "formats/gguf_blocks.h"

#include <algorithm>
#include <cstring>

#include "formats/tensor_map.h"

namespace sixfold {
namespace {

constexpr int small_block = 32, large_block = 256;

float half_at(const std::byte* bytes) {
  uint16_t half;
  std::memcpy(&half, bytes, sizeof half);
  return float_of_half(half);
}

int byte_at(const std::byte* bytes, int place) { return std::to_integer<int>(bytes[place]); }

/// The scale is followed by 32 numbers.
void decode_q8_0(const std::byte* block, float* values) {
  const float scale = half_at(block);
  for (int i = 0; i < small_block; ++i)
    values[i] = scale * static_cast<float>(static_cast<int8_t>(byte_at(block, 2 + i)));
}

/// The lower halves of 16 bytes are the first 16 numbers, the upper halves the others.
int nibble_of(const std::byte* bytes, int i) {
  return i < small_block / 2 ? byte_at(bytes, i) & 15 : byte_at(bytes, i - small_block / 2) >> 4;
}

/// Bit i of four bytes is the fifth bit of number i.
int fifth_bit(const std::byte* bytes, int i) { return (byte_at(bytes, i / 8) >> (i % 8) & 1) << 4; }

void decode_q4_0(const std::byte* block, float* values) {
  const float scale = half_at(block);
  for (int i = 0; i < small_block; ++i) values[i] = scale * static_cast<float>(nibble_of(block + 2, i) - 8);
}

void decode_q4_1(const std::byte* block, float* values) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  for (int i = 0; i < small_block; ++i)
    values[i] = scale * static_cast<float>(nibble_of(block + 4, i)) + minimum;
}

void decode_q5_0(const std::byte* block, float* values) {
  const float scale = half_at(block);
  for (int i = 0; i < small_block; ++i)
    values[i] = scale * static_cast<float>((nibble_of(block + 6, i) | fifth_bit(block + 2, i)) - 16);
}

void decode_q5_1(const std::byte* block, float* values) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  for (int i = 0; i < small_block; ++i)
    values[i] = scale * static_cast<float>(nibble_of(block + 8, i) | fifth_bit(block + 4, i)) + minimum;
}

/// Scale and minimum value of one of the eight groups of 32 numbers, which have six bits each in twelve bytes.
struct GroupScale {
  float scale, minimum;
};
GroupScale group_scale(const std::byte* block, int group) {
  const std::byte* packed = block + 4;
  const int scale = group < 4 ? byte_at(packed, group) & 63
                              : (byte_at(packed, group + 4) & 15) | (byte_at(packed, group - 4) >> 6) << 4,
            minimum = group < 4 ? byte_at(packed, group + 4) & 63
                                : byte_at(packed, group + 4) >> 4 | (byte_at(packed, group) >> 6) << 4;
  return {half_at(block) * static_cast<float>(scale), half_at(block + 2) * static_cast<float>(minimum)};
}

/// Two groups of 32 numbers share 32 bytes: the lower halves are the first group.
void decode_q4_k(const std::byte* block, float* values) {
  const std::byte* numbers = block + 16;
  for (int group = 0; group < 8; ++group) {
    const GroupScale by = group_scale(block, group);
    for (int i = 0; i < small_block; ++i) {
      const int byte = byte_at(numbers, group / 2 * small_block + i),
                number = group % 2 ? byte >> 4 : byte & 15;
      *values++ = by.scale * static_cast<float>(number) - by.minimum;
    }
  }
}

/// The same, and bit g of 32 bytes is the fifth bit of the numbers of group g.
void decode_q5_k(const std::byte* block, float* values) {
  const std::byte *fifth = block + 16, *numbers = block + 48;
  for (int group = 0; group < 8; ++group) {
    const GroupScale by = group_scale(block, group);
    for (int i = 0; i < small_block; ++i) {
      const int byte = byte_at(numbers, group / 2 * small_block + i),
                number = (group % 2 ? byte >> 4 : byte & 15) | (byte_at(fifth, i) >> group & 1) << 4;
      *values++ = by.scale * static_cast<float>(number) - by.minimum;
    }
  }
}

/// Numbers of six bits: the lower four in 128 bytes, the upper two in 64, a scale for each 16 numbers, and one
/// for all. Of each half of the block, the four groups of 32 numbers share 64 bytes and 32.
void decode_q6_k(const std::byte* block, float* values) {
  const float scale = half_at(block + 208);
  for (int i = 0; i < large_block; ++i) {
    const int half = i / 128, group = i % 128 / 32, place = i % 32;
    const int lower = byte_at(block, half * 64 + group % 2 * 32 + place) >> (group / 2 * 4) & 15,
              upper = byte_at(block + 128, half * 32 + place) >> (2 * group) & 3,
              of_sixteen = static_cast<int8_t>(byte_at(block + 192, i / 16));
    values[i] = scale * static_cast<float>(of_sixteen) * static_cast<float>((lower | upper << 4) - 32);
  }
}

constexpr GgufType gguf_types[] = {
    {0, "F32", 1, 4, DType::f32},
    {1, "F16", 1, 2, DType::f16},
    {2, "Q4_0", small_block, 18, {}, decode_q4_0},
    {3, "Q4_1", small_block, 20, {}, decode_q4_1},
    {6, "Q5_0", small_block, 22, {}, decode_q5_0},
    {7, "Q5_1", small_block, 24, {}, decode_q5_1},
    {8, "Q8_0", small_block, 34, {}, decode_q8_0},
    {9, "Q8_1", small_block, 36},
    {10, "Q2_K", large_block, 84},
    {11, "Q3_K", large_block, 110},
    {12, "Q4_K", large_block, 144, {}, decode_q4_k},
    {13, "Q5_K", large_block, 176, {}, decode_q5_k},
    {14, "Q6_K", large_block, 210, {}, decode_q6_k},
    {15, "Q8_K", large_block, 292},
    {16, "IQ2_XXS", large_block, 66},
    {17, "IQ2_XS", large_block, 74},
    {18, "IQ3_XXS", large_block, 98},
    {19, "IQ1_S", large_block, 50},
    {20, "IQ4_NL", small_block, 18},
    {21, "IQ3_S", large_block, 110},
    {22, "IQ2_S", large_block, 82},
    {23, "IQ4_XS", large_block, 136},
    {24, "I8", 1, 1, DType::i8},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4, DType::i32},
    {27, "I64", 1, 8, DType::i64},
    {28, "F64", 1, 8, DType::f64},
    {29, "IQ1_M", large_block, 56},
    {30, "BF16", 1, 2, DType::bf16},
    {34, "TQ1_0", large_block, 54},
    {35, "TQ2_0", large_block, 66},
    {39, "MXFP4", small_block, 17},
};

}  // namespace

const GgufType* find_gguf_type(uint32_t number) {
  const auto found = std::ranges::find(gguf_types, number, &GgufType::number);
  return found == std::end(gguf_types) ? nullptr : found;
}

std::vector<float> decode_blocks(const GgufType& type, std::span<const std::byte> blocks) {
  const size_t count = blocks.size() / type.bytes;
  std::vector<float> values(count * type.elements);
  for (size_t i = 0; i < count; ++i)
    type.decode(blocks.data() + i * type.bytes, values.data() + i * type.elements);
  return values;
}

}  // namespace sixfold
