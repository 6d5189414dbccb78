#include "formats/gguf.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "error_message.h"
#include "formats/gguf_blocks.h"
#include "formats/gguf_bytes.h"
#include "formats/marian_bin_bytes.h"
#include "formats/safetensors.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using protobuf::little_endian;

class Gguf : public testing::Test {
 protected:
  GgufFile open(const std::string& bytes) const {
    write_file_atomically(folder_ / "a.gguf", bytes);
    return GgufFile::open(folder_ / "a.gguf");
  }
  std::string refusal(const std::string& bytes) const {
    return error_message([&] { open(bytes); });
  }
  static std::string floats(int count) { return std::string(static_cast<size_t>(count) * 4, '\0'); }

  const TemporaryFolder folder_;
};

/// tests/goldens/make_gguf_goldens.py decoded them with gguf.
TEST_F(Gguf, BlocksAreDecodedAsByGguf) {
  const SafetensorsFile golden = SafetensorsFile::open(SIXFOLD_TEST_GOLDENS "/gguf/blocks.safetensors");
  int types = 0;
  for (uint32_t number = 0; number < 100; ++number) {
    const GgufType* type = find_gguf_type(number);
    if (!type || !type->decode) continue;
    ++types;
    const TensorInfo& bytes = golden.at(std::string(type->name) + ".bytes");
    ASSERT_EQ(bytes.bytes.size(), 3 * type->bytes);
    EXPECT_EQ(decode_blocks(*type, bytes.bytes), to_floats(golden.at(std::string(type->name) + ".values")))
        << type->name;
  }
  EXPECT_EQ(types, 8);
}

TEST_F(Gguf, HasValuesOfAllTypes) {
  GgufBytes bytes;
  bytes.add("u8", 0, "\xFF").add("i8", 1, "\xFF").add("u16", 2, "\xFF\xFF").add("i16", 3, "\xFE\xFF");
  bytes.add("u32", 7u).add("i32", 5, little_endian(uint32_t(-3))).add("f32", 6, std::string("\0\0\xC0\x3F", 4));
  bytes.add("yes", 7, "\1").add("text", "a text").add("texts", std::vector<std::string>{"a", "", "b c"});
  bytes.add("u64", 10, little_endian(uint64_t{1} << 40)).add("i64", 11, little_endian(uint64_t(-5)));
  bytes.add("f64", 12, std::string("\0\0\0\0\0\0\xF8\x3F", 8)).add("huge", 10, std::string(8, '\xFF'));
  bytes.add("numbers", 9, little_endian(uint32_t{1}) + little_endian(uint64_t{3}) + "\1\2\xFF");
  // An array of two arrays, of which one is empty.
  bytes.add("nested", 9,
            little_endian(uint32_t{9}) + little_endian(uint64_t{2}) + little_endian(uint32_t{8}) +
                little_endian(uint64_t{0}) + little_endian(uint32_t{0}) + little_endian(uint64_t{1}) + "x");
  const GgufFile file = open(bytes.bytes());
  const auto whole = [&](const char* key) { return file.integer(key, INT64_MIN, INT64_MAX); };
  EXPECT_EQ(whole("u8"), 255);
  EXPECT_EQ(whole("i8"), -1);
  EXPECT_EQ(whole("u16"), 65535);
  EXPECT_EQ(whole("i16"), -2);
  EXPECT_EQ(whole("u32"), 7);
  EXPECT_EQ(whole("i32"), -3);
  EXPECT_EQ(whole("u64"), int64_t{1} << 40);
  EXPECT_EQ(whole("i64"), -5);
  EXPECT_EQ(file.number("f32"), 1.5);
  EXPECT_EQ(file.number("f64"), 1.5);
  EXPECT_EQ(file.number("u32"), 7);
  EXPECT_TRUE(file.truth("yes"));
  EXPECT_EQ(file.text("text"), "a text");
  EXPECT_EQ(file.texts("texts"), (std::vector<std::string>{"a", "", "b c"}));
  EXPECT_EQ(file.integers("numbers"), (std::vector<int64_t>{1, 2, -1}));
  EXPECT_EQ(file.keys().size(), 16u);
  expect_holds(error_message([&] { file.text("u8"); }), "a.gguf: the value of u8 is not a text");
  expect_holds(error_message([&] { file.texts("text"); }), "the value of text is not an array");
  expect_holds(error_message([&] { file.texts("numbers"); }), "is not an array of texts");
  expect_holds(error_message([&] { file.integers("texts"); }), "is not an array of whole numbers");
  expect_holds(error_message([&] { file.floats("numbers"); }), "is not an array of floats");
  expect_holds(error_message([&] { whole("huge"); }), "the value of huge is not a whole number");
  expect_holds(error_message([&] { file.integer("u8", 1, 9); }), "from 1 to 9: it is 255");
  expect_holds(error_message([&] { file.truth("u8"); }), "is not true or false");
  expect_holds(error_message([&] { file.text("none"); }), "has no key none");
}

TEST_F(Gguf, HasTensorsWithTheSlowestSizeFirst) {
  GgufBytes bytes;
  bytes.tensor("a", {2, 3}, 0, bytes_of<float>({0, 1, 2, 3, 4, 5}))
      .tensor("half", {1}, 1, std::string("\0\x3C", 2));
  bytes.tensor("q", {32}, 8, std::string("\0\x3C", 2) + std::string(32, '\3'))
      .tensor("iq", {32}, 20, floats(18));
  const GgufFile file = open(bytes.bytes());
  EXPECT_EQ(file.tensors().at("a").shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(to_floats(file.tensors().at("a")), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(to_floats(file.tensors().at("half")), std::vector<float>{1});
  EXPECT_EQ(to_floats(file.tensors().at("q")), std::vector<float>(32, 3.0f));
  expect_holds(error_message([&] { file.tensors().at("iq"); }),
               "tensor 'iq': elements of type IQ4_NL are not supported");
}

TEST_F(Gguf, RefusesDamage) {
  GgufBytes good;
  good.add("key", "value").tensor("a", {8}, 0, floats(8)).tensor("b", {8}, 0, floats(8));
  const std::string whole = good.bytes();
  expect_holds(refusal("GGML" + whole.substr(4)), "is not a GGUF file");
  expect_holds(refusal(good.bytes(1)), "version 1 of GGUF is not supported");
  for (const size_t size : {size_t{0}, size_t{10}, size_t{30}, size_t{50}, size_t{100}, whole.size() - 1})
    expect_holds(refusal(whole.substr(0, size)), "is truncated or damaged");
  std::string many = whole;
  many[15] = '\x7F';
  expect_holds(refusal(many), "it claims");
  expect_holds(refusal(GgufBytes().add("k", "a").add("k", "b").bytes()), "the key 'k' occurs twice");
  expect_holds(refusal(GgufBytes().add("k", 13, "").bytes()), "key 'k' has a value of the unknown type 13");
  expect_holds(refusal(GgufBytes().add("k", 9, little_endian(uint32_t{4}) + std::string(8, '\x7F')).bytes()),
               "key 'k' has 9187201950435737471 values");
  std::string nested;
  for (int i = 0; i < 9; ++i) nested += little_endian(uint32_t{9}) + little_endian(uint64_t{1});
  expect_holds(refusal(GgufBytes().add("k", 9, nested + std::string(20, '\0')).bytes()), "nested too deeply");
  const auto tensor = [&](uint64_t at, const std::vector<uint64_t>& sizes, uint32_t type) {
    return refusal(GgufBytes().tensor_at(at, "a", sizes, type, floats(8)).bytes());
  };
  expect_holds(tensor(7, {8}, 0), "tensor 'a': its place, 7, is outside");
  expect_holds(tensor(3200, {8}, 0), "tensor 'a': its place, 3200, is outside");
  expect_holds(tensor(0, {1000}, 0), "1000 elements of type F32 are not in the file");
  expect_holds(tensor(0, {1ull << 40, 1ull << 40}, 0), "is not a valid shape");
  expect_holds(tensor(0, {~0ull}, 0), "has the size 18446744073709551615");
  expect_holds(tensor(0, {33}, 8), "[33] is not a valid shape for blocks of 32 elements");
  expect_holds(tensor(0, {1, 1, 1, 1, 1, 1, 1, 1, 1}, 0), "has 9 dimensions");
  expect_holds(refusal(GgufBytes().tensor("a", {16}, 0, floats(16)).tensor_at(32, "b", {8}, 0, "").bytes()),
               "tensors 'a' and 'b' overlap");
  expect_holds(refusal(GgufBytes().add("general.alignment", 33u).bytes()), "which is not a power of two");
}

}  // namespace
}  // namespace sixfold
