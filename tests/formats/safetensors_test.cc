#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Safetensors : public testing::Test {
 protected:
  /// The error message, without the file's name, for a file with that header and so many bytes of data.
  std::string refusal(const std::string& header, size_t data_bytes = 0) {
    const uint64_t length = header.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    return refusal_of_bytes(bytes + header + std::string(data_bytes, 'x'));
  }

  /// Writes a file with this header.
  std::string written(const std::string& header, size_t data_bytes) {
    const std::string path = folder_ / "a.safetensors";
    const uint64_t length = header.size();
    std::ofstream(path, std::ios::binary) << std::string(reinterpret_cast<const char*>(&length), sizeof length)
                                          << header << std::string(data_bytes, 'x');
    return path;
  }

  std::string refusal_of_bytes(const std::string& bytes) {
    const std::string path = folder_ / "a.safetensors";
    std::ofstream(path, std::ios::binary) << bytes;
    const std::string message = error_message([&] { SafetensorsFile::open(path); });
    EXPECT_EQ(message.rfind(path + ": ", 0), 0u) << message;
    return message.substr(std::min(message.size(), path.size() + 2));
  }

  const TemporaryFolder folder_;
};

std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, type, shape, offsets);
}

TEST_F(Safetensors, WhatIsWrittenIsRead) {
  const std::vector<float> a = {1, -2.5f, 3e-9f, 4, 5, 6};
  const std::vector<int8_t> b = {-1, 2, 3};
  const double c = 0.1;
  const std::vector<NamedTensor> tensors = {{"z.weight", DType::f32, {2, 3}, a.data()},
                                            {"empty", DType::i64, {0, 7}, nullptr},
                                            {"a \"quoted\" ä", DType::i8, {3}, b.data()},
                                            {"scalar", DType::f64, {}, &c}};
  const std::string path = folder_ / "a.safetensors";
  write_safetensors(path, tensors, {{"format", "pt"}, {"note", "ü\n"}});
  const auto file = SafetensorsFile::open(path);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"z.weight", "empty", "a \"quoted\" ä", "scalar"}));
  auto metadata = file.metadata();
  EXPECT_EQ(metadata.extract("sixfold.xxh3_128").mapped().size(), 32u);
  EXPECT_EQ(metadata, (std::map<std::string, std::string>{{"format", "pt"}, {"note", "ü\n"}}));
  EXPECT_NO_THROW(file.verify());
  for (const NamedTensor& tensor : tensors) {
    const TensorInfo& read = file.at(tensor.name);
    EXPECT_EQ(read.dtype, tensor.dtype);
    EXPECT_EQ(read.shape, tensor.shape);
    const auto* written = static_cast<const std::byte*>(tensor.data);
    EXPECT_TRUE(std::equal(read.bytes.begin(), read.bytes.end(), written));
  }
  EXPECT_EQ(to_floats(file.at("z.weight")), a);
  EXPECT_EQ(to_floats(file.at("scalar")),
            std::vector<float>{0.1f});  // three bytes off the alignment of a double
  EXPECT_EQ(file.find("missing"), nullptr);
  EXPECT_EQ(error_message([&] { file.at("z.wieght"); }),
            path + ": no tensor 'z.wieght' (did you mean 'z.weight'?)");
}

TEST_F(Safetensors, DataBeginAtAMultipleOfEightBytes) {
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"}) {
    const std::string path = folder_ / name;
    const float value = 1;
    write_safetensors(path, std::vector<NamedTensor>{{name, DType::f32, {1}, &value}});
    EXPECT_EQ(read_file(path).size() % 8, 4u);
    EXPECT_EQ(to_floats(SafetensorsFile::open(path).at(name)), std::vector<float>{1});
  }
}

TEST_F(Safetensors, ReadsWhatPyTorchWrote) {
  const auto file = SafetensorsFile::open(SIXFOLD_TEST_GOLDENS "/safetensors_from_python.safetensors");
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  const std::vector<float> expected = {
      0, -0.0f, 1, -1.5f, 65504, 6.103515625e-05f, 5.9604644775390625e-08f, 0.333251953125f};
  EXPECT_EQ(to_floats(file.at("f16")), expected);
  EXPECT_EQ(to_floats(file.at("bf16")), (std::vector<float>{1, -2, 0.333984375f, 3.3895313892515355e38f}));
  EXPECT_EQ(to_floats(file.at("f64")), (std::vector<float>{0.1f, -1e30f}));
  EXPECT_EQ(file.at("f64").shape, (std::vector<int64_t>{2, 1}));
  const auto special = to_floats(file.at("f16_special"));
  EXPECT_EQ(special[0], INFINITY);
  EXPECT_EQ(special[1], -INFINITY);
  EXPECT_TRUE(std::isnan(special[2]));
  EXPECT_EQ(file.at("i64").dtype, DType::i64);
  EXPECT_EQ(error_message([&] { to_floats(file.at("i64")); }),
            "a tensor of type I64 does not hold floating-point numbers");
}

TEST_F(Safetensors, CutShortAnywhereItIsRefused) {
  const std::string path = folder_ / "whole";
  const std::vector<float> values = {1, 2, 3};
  write_safetensors(path, std::vector<NamedTensor>{{"a", DType::f32, {2}, values.data()},
                                                   {"b", DType::f32, {1}, values.data()}});
  const std::string bytes = read_file(path);
  for (size_t length = 0; length < bytes.size(); ++length) refusal_of_bytes(bytes.substr(0, length));
  EXPECT_EQ(refusal_of_bytes(bytes + "x"), "the last 1 bytes do not belong to any tensor; the file is damaged");
}

TEST_F(Safetensors, HostileLengths) {
  for (const uint64_t length :
       {uint64_t{1}, uint64_t{100}, uint64_t{100'000'001}, uint64_t{1} << 63,
        std::numeric_limits<uint64_t>::max(), std::numeric_limits<uint64_t>::max() - 7}) {
    const std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    EXPECT_EQ(
        refusal_of_bytes(bytes),
        fmt::format("not a safetensors file, or truncated: a header of {} bytes does not fit into its 8 bytes",
                    length));
  }
}

TEST_F(Safetensors, HostileHeaders) {
  EXPECT_EQ(refusal(""), "header: is empty, not JSON");
  EXPECT_EQ(refusal("not JSON"), "header: not valid JSON at byte 2");
  EXPECT_EQ(refusal("[1]"), "the header is not a JSON object");
  EXPECT_EQ(refusal(std::string(100'000, '[')), "header: JSON is nested deeper than 32 levels");
  EXPECT_EQ(refusal(fmt::format("{{{0},{0}}}", entry("a", "F32", "[0]", "[0,0]"))),
            "header: the key 'a' is given twice; remove one");
  const std::string fields = "tensor 'a': expected an entry with dtype, shape and data_offsets";
  EXPECT_EQ(refusal(R"({"a":5})"), fields);
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[0]}})"), fields);
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[0],"offsets":[0,0]}})"), fields);
  EXPECT_EQ(refusal(R"({"__metadata__":5})"), "the metadata must be an object");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":5}})"), "the metadata entry 'a' must be a string");
  EXPECT_EQ(refusal(R"({"a":{"dtype":7,"shape":[0],"data_offsets":[0,0]}})"),
            "tensor 'a': its type is 7, which is not a name");
}

TEST_F(Safetensors, HostileEntries) {
  const auto one = [&](const std::string& type, const std::string& shape, const std::string& offsets) {
    return refusal(fmt::format("{{{}}}", entry("a", type, shape, offsets)), 8);
  };
  EXPECT_EQ(one("F99", "2", "[0,8]"), "tensor 'a': the shape is not a list");
  EXPECT_EQ(one("F99", "[2]", "[0,9]"), "tensor 'a': bytes 0 to 9 are outside the file's 8 bytes of data");
  EXPECT_EQ(one("F32", "2", "[0,8]"), "tensor 'a': the shape is not a list");
  EXPECT_EQ(one("F32", "[-2]", "[0,8]"), "tensor 'a': the shape contains -2, which is not a size");
  EXPECT_EQ(one("F32", "[2.0]", "[0,8]"), "tensor 'a': the shape contains 2.0, which is not a size");
  EXPECT_EQ(one("F32", "[9223372036854775808]", "[0,8]"),
            "tensor 'a': the shape contains 9223372036854775808, which is not a size");
  EXPECT_EQ(one("F32", "[2]", "[-8,0]"), "tensor 'a': data_offsets must be two whole numbers");
  EXPECT_EQ(one("F32", "[2]", "[0,8,8]"), "tensor 'a': data_offsets must be two whole numbers");
  EXPECT_EQ(one("F32", "[2]", "\"08\""), "tensor 'a': data_offsets must be two whole numbers");
  EXPECT_EQ(one("F32", "[2]", "[8,0]"), "tensor 'a': bytes 8 to 0 are outside the file's 8 bytes of data");
  EXPECT_EQ(one("F32", "[2]", "[0,9]"), "tensor 'a': bytes 0 to 9 are outside the file's 8 bytes of data");
  EXPECT_EQ(one("F32", "[2]", "[1,18446744073709551615]"),
            "tensor 'a': bytes 1 to 18446744073709551615 are outside the file's 8 bytes of data");
  EXPECT_EQ(one("F32", "[3]", "[0,8]"), "tensor 'a': 8 bytes do not match type F32 and shape [3]");
  EXPECT_EQ(one("F32", "[4611686018427387904,4]", "[0,0]"),  // 2^66 bytes, which is 0 in 64 bits
            "tensor 'a': 0 bytes do not match type F32 and shape [4611686018427387904, 4]");
}

/// Masks of old models are of type BOOL; a type may also take less than a byte.
TEST_F(Safetensors, OnlyTensorsThatAreReadNeedAKnownType) {
  const std::string path =
      written(fmt::format("{{{},{},{}}}", entry("mask", "BOOL", "[1,3]", "[0,3]"),
                          entry("a", "I8", "[2]", "[3,5]"), entry("half", "F4", "[4]", "[5,7]")),
              7);
  const auto file = SafetensorsFile::open(path);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"mask", "a", "half"}));
  EXPECT_EQ(file.at("a").bytes.size(), 2u);
  ASSERT_NE(file.find("mask"), nullptr);
  EXPECT_EQ(file.find("mask")->shape, (std::vector<int64_t>{1, 3}));
  const std::string refused = path + ": tensor 'mask': elements of type BOOL are not supported";
  EXPECT_EQ(error_message([&] { file.at("mask"); }), refused);
  const TensorMap map = read_safetensors(path);
  EXPECT_EQ(map.names().size(), 3u);
  EXPECT_NE(map.find("mask"), nullptr);
  EXPECT_EQ(error_message([&] { map.at("mask"); }), refused);
  EXPECT_EQ(
      refusal(fmt::format("{{{},{}}}", entry("a", "BOOL", "[4]", "[0,4]"), entry("b", "BOOL", "[4]", "[2,6]")),
              6),
      "tensor 'b': its bytes overlap those before");
}

TEST_F(Safetensors, EveryByteBelongsToOneTensor) {
  const auto two = [&](const std::string& first, const std::string& second) {
    return refusal(fmt::format("{{{},{}}}", entry("a", "I8", "[4]", first), entry("b", "I8", "[4]", second)),
                   10);
  };
  EXPECT_EQ(two("[0,4]", "[2,6]"), "tensor 'b': its bytes overlap those before");
  EXPECT_EQ(two("[0,4]", "[0,4]"), "tensor 'b': its bytes overlap those before");
  EXPECT_EQ(two("[0,4]", "[5,9]"), "tensor 'b': its bytes leave a gap after those before");
  EXPECT_EQ(two("[5,9]", "[1,5]"), "tensor 'b': its bytes leave a gap after those before");
  EXPECT_EQ(two("[4,8]", "[0,4]"), "the last 2 bytes do not belong to any tensor; the file is damaged");
}

TEST_F(Safetensors, TheWriterRefusesWhatCannotBeRead) {
  const float value = 1;
  const auto message = [&](const std::vector<NamedTensor>& tensors) {
    return error_message([&] { write_safetensors("a", tensors); });
  };
  EXPECT_EQ(message({{"x", DType::f32, {}, &value}, {"x", DType::f32, {}, &value}}),
            "a: 'x' is not a valid name for a tensor, or is used twice");
  EXPECT_EQ(message({{"__metadata__", DType::f32, {}, &value}}),
            "a: '__metadata__' is not a valid name for a tensor, or is used twice");
  EXPECT_EQ(message({{"x", DType::f32, {-1}, &value}}), "a: tensor 'x': [-1] is not a valid shape");
  EXPECT_EQ(message({{"\xff", DType::f32, {}, &value}}),
            "a: a name or the metadata are not valid UTF-8, which the format requires");
}

}  // namespace
}  // namespace sixfold
