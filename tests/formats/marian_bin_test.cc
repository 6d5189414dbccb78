#include "formats/marian_bin.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "formats/marian_bin_bytes.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Floats = std::vector<float>;

class MarianBin : public testing::Test {
 protected:
  TensorMap read(const std::string& bytes) const {
    write_file_atomically(folder_ / "model.bin", bytes);
    return read_marian_bin(folder_ / "model.bin");
  }
  std::string refusal(const std::string& bytes) const {
    return error_message([&] { read(bytes); });
  }

  const TemporaryFolder folder_;
  const MarianItem floats_{"a_b", 0x404, {1, 2}, bytes_of<float>({0.5f, -3})};
  /// As Marian stores [[1, 2, 3], [-4, -5, -6]] / 10: transposed, and the multiplier after them.
  const MarianItem weight_{
      "l1_W1", 0x10001, {2, 3}, bytes_of<int8_t>({1, -4, 2, -5, 3, -6}) + bytes_of<float>({10})};
};

TEST_F(MarianBin, HasFloatsAndWhatIntgemmQuantized) {
  MarianItem wide{"l1_W2", 0x4102, {1, 2}, bytes_of<int16_t>({1024, -3}) + bytes_of<float>({1024})},
      embedding{"Wemb", 0x4101, {3, 2}, bytes_of<int8_t>({1, 2, 3, 4, 5, 6}) + bytes_of<float>({2})};
  const TensorMap map = read(marian_bin({floats_, weight_, wide, embedding}));
  EXPECT_EQ(to_floats(map.at("a_b")), (Floats{0.5f, -3}));
  EXPECT_EQ(map.at("l1_W1").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(to_floats(map.at("l1_W1")), (Floats{0.1f, 0.2f, 0.3f, -0.4f, -0.5f, -0.6f}));
  EXPECT_EQ(to_floats(map.at("l1_W2")), (Floats{1, -3 / 1024.0f}));
  EXPECT_EQ(to_floats(map.at("Wemb")), (Floats{0.5f, 1, 1.5f, 2, 2.5f, 3}));  // as it is
}

TEST_F(MarianBin, RefusesTypesOfOneProcessor) {
  MarianItem packed = weight_;
  packed.type = 0x1801;
  const TensorMap map = read(marian_bin({packed}));
  EXPECT_NE(map.find("l1_W1"), nullptr);
  expect_holds(error_message([&] { map.at("l1_W1"); }),
               "tensor 'l1_W1': elements of type 0x1801 of Marian, which is made for one kind of processor");
}

TEST_F(MarianBin, RefusesDamage) {
  const std::string whole = marian_bin({floats_, weight_});
  expect_holds(refusal(marian_bin({floats_}, 2)), "its version is 2 instead of 1");
  expect_holds(refusal(marian_bin({floats_, floats_})), "the tensor 'a_b' occurs twice");
  for (const size_t size : {size_t{0}, size_t{20}, size_t{60}, size_t{90}, whole.size() - 1})
    expect_holds(refusal(whole.substr(0, size)), "model.bin: is truncated or damaged");
  MarianItem odd = floats_;
  odd.shape = {1000, 2};
  expect_holds(refusal(marian_bin({odd})), "too few for the shape [1000, 2]");
  odd.shape = {-1, 2};
  expect_holds(refusal(marian_bin({odd})), "[-1, 2] is not a valid shape");
  odd = weight_;
  odd.shape = {1 << 30, 1 << 30};
  expect_holds(refusal(marian_bin({odd})), "too few for the shape");
  odd = weight_;
  odd.bytes.replace(6, 4, std::string(4, '\0'));
  const TensorMap map = read(marian_bin({odd}));
  expect_holds(error_message([&] { to_floats(map.at("l1_W1")); }), "tensor 'l1_W1': its multiplier is 0");
}

}  // namespace
}  // namespace sixfold
