#include "formats/ctranslate2_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/protobuf.h"
#include "error_message.h"
#include "formats/marian_bin_bytes.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using protobuf::little_endian;

std::string ct2_text(const std::string& text) {
  return little_endian(static_cast<uint16_t>(text.size() + 1)) + text + '\0';
}

/// A variable as it is in a file.
std::string ct2_variable(const std::string& name, const std::vector<uint32_t>& shape, uint8_t type,
                         const std::string& bytes) {
  return ct2_text(name) + static_cast<char>(shape.size()) + bytes_of(shape) + static_cast<char>(type) +
         little_endian(static_cast<uint32_t>(bytes.size())) + bytes;
}

class Ctranslate2 : public testing::Test {
 protected:
  static std::string file(const std::vector<std::string>& variables,
                          const std::vector<std::pair<std::string, std::string>>& aliases = {},
                          uint32_t version = 6) {
    std::string bytes = little_endian(version) + ct2_text("TransformerSpec") + little_endian(uint32_t{7}) +
                        little_endian(static_cast<uint32_t>(variables.size()));
    for (const std::string& variable : variables) bytes += variable;
    bytes += little_endian(static_cast<uint32_t>(aliases.size()));
    for (const auto& [name, target] : aliases) bytes += ct2_text(name) + ct2_text(target);
    return bytes;
  }
  Ctranslate2File open(const std::string& bytes) const {
    write_file_atomically(folder_ / "model.bin", bytes);
    return Ctranslate2File::open(folder_ / "model.bin");
  }
  std::string refusal(const std::string& bytes) const {
    return error_message([&] { open(bytes); });
  }

  const TemporaryFolder folder_;
  const std::string floats_ = ct2_variable("a", {2, 1}, 0, bytes_of<float>({1.5f, -2}));
};

TEST_F(Ctranslate2, HasWeightsOfAllTypes) {
  const Ctranslate2File read =
      open(file({floats_, ct2_variable("h", {1}, 4, std::string("\0\x3C", 2)),
                 ct2_variable("b", {1}, 5, std::string("\x80\x3F", 2)),
                 ct2_variable("rows", {2, 2}, 1, bytes_of<int8_t>({2, -4, 30, 9})),
                 ct2_variable("rows_scale", {2}, 0, bytes_of<float>({2, 3})),
                 ct2_variable("all", {2, 2}, 2, bytes_of<int16_t>({1000, -4, 30, 9})),
                 ct2_variable("all_scale", {}, 0, bytes_of<float>({10})),
                 ct2_variable("heads", {}, 2, bytes_of<int16_t>({8})),
                 ct2_variable("factor", {}, 0, bytes_of<float>({0.5f})),
                 ct2_variable("list", {2}, 2, bytes_of<int16_t>({1, 2}))},
                {{"alias", "rows"}, {"alias_scale", "rows_scale"}, {"other", "heads"}}, 5));
  EXPECT_EQ(read.spec(), "TransformerSpec");
  const auto values = [&](const char* name) { return to_floats(read.tensors().at(name)); };
  EXPECT_EQ(values("a"), (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(values("h"), std::vector<float>{1});
  EXPECT_EQ(values("b"), std::vector<float>{1});
  EXPECT_EQ(values("rows"), (std::vector<float>{1, -2, 10, 3}));
  EXPECT_EQ(values("alias"), values("rows"));
  EXPECT_EQ(values("all"), (std::vector<float>{100, -0.4f, 3, 0.9f}));
  EXPECT_EQ(read.tensors().names(), (std::vector<std::string>{"a", "alias", "all", "b", "h", "list", "rows"}));
  EXPECT_EQ(read.number("heads")->value, 8);
  EXPECT_TRUE(read.number("other")->is_integer);
  EXPECT_FALSE(read.number("factor")->is_integer);
  EXPECT_EQ(read.number("none"), nullptr);
  EXPECT_EQ(read.target_of("alias"), "rows");
  EXPECT_EQ(read.target_of("rows"), "rows");
  expect_holds(error_message([&] { read.tensors().at("list"); }), "integers without a scale");
}

TEST_F(Ctranslate2, WhatIsWrittenIsRead) {
  write_ctranslate2(folder_ / "model.bin", "TransformerSpec", 7,
                    {{.name = "w",
                      .shape = {2, 1},
                      .values =
                          [] {
                            return std::vector<float>{3, 4};
                          }},
                     {.name = "heads", .integer = 300, .bytes = 2},
                     {.name = "flag", .integer = 1}},
                    {{"v", "w"}});
  const Ctranslate2File read = Ctranslate2File::open(folder_ / "model.bin");
  EXPECT_EQ(to_floats(read.tensors().at("v")), (std::vector<float>{3, 4}));
  EXPECT_EQ(read.tensors().at("w").shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(read.number("heads")->value, 300);
  EXPECT_EQ(read.number("flag")->value, 1);
}

TEST_F(Ctranslate2, RefusesDamage) {
  const std::string whole = file({floats_}, {{"b", "a"}});
  for (const size_t size : {size_t{0}, size_t{10}, size_t{30}, size_t{50}, whole.size() - 1})
    expect_holds(refusal(whole.substr(0, size)), "truncated or damaged");
  expect_holds(refusal(file({}, {}, 4)), "version 4 of CTranslate2's models is not supported");
  expect_holds(refusal(whole + "x"), "has 1 bytes after its end");
  expect_holds(refusal(file({floats_, floats_})), "variable 'a': occurs twice");
  expect_holds(refusal(file({ct2_variable("a", {1}, 9, "x")})), "variable 'a': has the unknown type 9");
  expect_holds(refusal(file({ct2_variable("a", {3}, 0, "12345678")})), "8 bytes do not match");
  const uint32_t huge = 0xFFFFFFFF;
  expect_holds(refusal(file({ct2_variable("a", {huge, huge, huge}, 0, "1234")})), "do not match");
  expect_holds(refusal(file({floats_}, {{"b", "c"}})), "the alias 'b' stands for 'c', which does not exist");
  std::vector<std::pair<std::string, std::string>> aliases;
  for (int i = 0; i < 5; ++i) aliases.emplace_back(std::to_string(i), "large");
  expect_holds(refusal(file({ct2_variable("large", {1000}, 0, std::string(4000, '\0'))}, aliases)),
               "its aliases stand for more than 4 times as many bytes as it has");
  expect_holds(refusal(file({floats_}, {{"a", "a"}})), "the tensor 'a' occurs twice");
  const auto scaled = [](const std::vector<uint32_t>& shape, const std::vector<float>& scales) {
    return file({ct2_variable("q", {2, 2}, 1, "1234"), ct2_variable("q_scale", shape, 0, bytes_of(scales))});
  };
  expect_holds(refusal(scaled({3}, {1, 2, 3})), "variable 'q': has a scale of the shape [3], but 2 rows");
  const Ctranslate2File zero = open(scaled({2}, {1, 0}));
  expect_holds(error_message([&] { to_floats(zero.tensors().at("q")); }), "its scale is not a finite number");
  std::string many = whole;
  many[27] = '\x7F';
  expect_holds(refusal(many), "damaged");
}

/// Whisper tiny.en as faster-whisper has it, if it is there: fp16, of 4 + 4 layers.
TEST(Ctranslate2Whisper, IsReadWhole) {
  const char* models = std::getenv("SIXFOLD_REAL_MODELS");
  const std::string path = fmt::format("{}/whisper-tiny.en/model.bin", models ? models : "");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs whisper-tiny.en in SIXFOLD_REAL_MODELS";
  const Ctranslate2File file = Ctranslate2File::open(path);
  EXPECT_EQ(file.spec(), "WhisperSpec");
  const auto shape = [&](const char* name) { return file.tensors().at(name).shape; };
  EXPECT_EQ(shape("encoder/conv1/weight"), (std::vector<int64_t>{384, 80, 3}));
  EXPECT_EQ(shape("encoder/position_encodings/encodings"), (std::vector<int64_t>{1500, 384}));
  EXPECT_EQ(shape("decoder/embeddings/weight"), (std::vector<int64_t>{51864, 384}));
  EXPECT_EQ(shape("decoder/layer_3/attention/linear_1/weight"), (std::vector<int64_t>{768, 384}));
  EXPECT_EQ(file.target_of("decoder/projection/weight"), "decoder/embeddings/weight");
  EXPECT_EQ(file.number("decoder/num_heads")->value, 6);
  int64_t weights = 0;
  for (const std::string& name : file.tensors().names()) {
    if (file.target_of(name) != name) continue;
    for (const float value : to_floats(file.tensors().at(name))) ASSERT_TRUE(std::isfinite(value)) << name;
    weights += std::ssize(to_floats(file.tensors().at(name)));
  }
  EXPECT_EQ(weights, 37'764'864);
}

}  // namespace
}  // namespace sixfold
