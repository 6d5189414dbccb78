#include "formats/torch_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "error_message.h"
#include "formats/pickle.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

const std::string corpus = SIXFOLD_SOURCE_DIR "/tests/fuzz/corpus/torch/";

// torch.save wrote both: w = [[0, 1, 2], [3, 4, 5]] in fp32, v = [1, 1] in fp16.
TEST(TorchFile, ReadsBothOfItsForms) {
  for (const char* file : {"zip.bin", "legacy.bin"}) {
    const TensorMap map = read_torch(corpus + file);
    EXPECT_EQ(map.names(), (std::vector<std::string>{"v", "w"})) << file;
    EXPECT_EQ(map.at("w").shape, (std::vector<int64_t>{2, 3})) << file;
    EXPECT_EQ(to_floats(map.at("w")), (std::vector<float>{0, 1, 2, 3, 4, 5})) << file;
    EXPECT_EQ(map.at("v").dtype, DType::f16) << file;
    EXPECT_EQ(to_floats(map.at("v")), (std::vector<float>{1, 1})) << file;
  }
}

class TorchFileErrors : public testing::Test {
 protected:
  std::string refusal(const std::string& from, const std::string& to) {
    std::string bytes = read_file(corpus + "legacy.bin");
    for (size_t place = 0; (place = bytes.find(from, place)) != bytes.npos; place += to.size())
      bytes.replace(place, from.size(), to);
    return refusal_of(bytes);
  }
  std::string refusal_of(const std::string& bytes) {
    std::ofstream(folder_ / "a.bin", std::ios::binary) << bytes;
    return error_message([&] { read_torch(folder_ / "a.bin"); });
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
  }

  const TemporaryFolder folder_;
};

TEST_F(TorchFileErrors, NoFunctionIsCalledThatIsNotKnown) {
  EXPECT_TRUE(contains(refusal("torch._utils\n_rebuild_tensor_v2", "posix\nsystem"),
                       "is created by posix.system, which does not create tensors"));
  EXPECT_TRUE(
      contains(refusal("torch\nFloatStorage", "torch\nQuantStorage"), "elements of type torch.QuantStorage"));
}

TEST_F(TorchFileErrors, NameWhatIsWrong) {
  const std::string whole = read_file(corpus + "legacy.bin");
  EXPECT_TRUE(contains(refusal_of(whole.substr(0, whole.size() - 3)), "truncated in storage"));
  EXPECT_TRUE(contains(refusal_of(whole.substr(0, 40)), "truncated"));
  EXPECT_TRUE(contains(refusal_of("text"), "a mark that it never set"));
  EXPECT_TRUE(contains(refusal_of(""), "truncated"));
}

TEST(Pickle, IsReadAsData) {
  // {'a': (1, True), 'b': [2, None]} as Python's pickle.dumps writes it in protocol 2.
  using namespace std::string_literals;
  const std::string text = "\x80\x02}q\x00(X\x01\x00\x00\x00"s + "aq\x01K\x01\x88\x86q\x02X\x01\x00\x00\x00"s +
                           "bq\x03]q\x04(K\x02Neu."s;
  const Pickle pickle(std::as_bytes(std::span(text)), "text");
  EXPECT_EQ(pickle.size(), text.size());
  const PickleValue& value = pickle.value();
  ASSERT_EQ(value.kind, PickleValue::Kind::dictionary);
  ASSERT_EQ(value.items.size(), 4u);
  EXPECT_EQ(value.items[0]->text, "a");
  EXPECT_EQ(value.items[1]->items[0]->integer, 1);
  EXPECT_EQ(value.items[1]->items[1]->kind, PickleValue::Kind::boolean);
  EXPECT_EQ(value.items[3]->items[1]->kind, PickleValue::Kind::none);
}

TEST(Pickle, RefusesProgramsThatAreNone) {
  const auto refusal = [](const std::string& program) {
    return error_message([&] { Pickle(std::as_bytes(std::span(program)), "text"); });
  };
  EXPECT_EQ(refusal("."), "text: the pickle takes a value from an empty stack");
  EXPECT_EQ(refusal("t."), "text: the pickle uses a mark that it never set");
  EXPECT_EQ(refusal(std::string("h\x05.")), "text: the pickle reads a memo entry that it never wrote");
  EXPECT_EQ(refusal("NNa."), "text: the pickle adds items to a value that is not a container");
  EXPECT_EQ(refusal("}(Nu."), "text: the pickle has a key without a value");
  EXPECT_EQ(refusal("X\x05"), "text: the pickle is truncated");
  EXPECT_EQ(
      refusal("ios\nsystem\n"),
      "text: the pickle contains operation 0x69, which saved tensors do not need; such files are refused");
}

}  // namespace
}  // namespace sixfold
