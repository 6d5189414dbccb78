#include "formats/npz.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

// numpy.savez wrote it: a = [[0, 1, 2], [3, 4, 5]] in fp32, b = [1, 2] in int64, "special:model.yml" in int8.
const std::string arrays = SIXFOLD_SOURCE_DIR "/tests/fuzz/corpus/npz/arrays.npz";

TEST(Npz, ReadsWhatNumpyWrites) {
  const TensorMap map = read_npz(arrays);
  EXPECT_EQ(map.names(), (std::vector<std::string>{"a", "b", "special:model.yml"}));
  EXPECT_EQ(map.at("a").dtype, DType::f32);
  EXPECT_EQ(map.at("a").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(to_floats(map.at("a")), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(map.at("b").dtype, DType::i64);
  EXPECT_EQ(map.at("special:model.yml").dtype, DType::i8);
  EXPECT_EQ(error_message([&] { map.at("aa"); }), arrays + ": no tensor 'aa' (did you mean 'a'?)");
}

class NpzErrors : public testing::Test {
 protected:
  /// The error message for the file after `from` in it was replaced by `to`, which has the same length.
  std::string refusal(const std::string& from, const std::string& to) {
    std::string bytes = read_file(arrays);
    const size_t place = bytes.find(from);
    EXPECT_NE(place, bytes.npos);
    bytes.replace(place, from.size(), to);
    return refusal_of(bytes);
  }
  std::string refusal_of(const std::string& bytes) {
    std::ofstream(folder_ / "a.npz", std::ios::binary) << bytes;
    return error_message([&] { read_npz(folder_ / "a.npz"); });
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
  }

  const TemporaryFolder folder_;
};

TEST_F(NpzErrors, NameTheArrayAndWhatIsWrong) {
  EXPECT_TRUE(contains(refusal("'<f4'", "'>f4'"), "array 'a': elements of type >f4 are not supported"));
  EXPECT_TRUE(contains(refusal("'<f4'", "'<U4'"), "elements of type <U4"));
  EXPECT_TRUE(contains(refusal("False", " True"), "Fortran order"));
  EXPECT_TRUE(contains(refusal("(2, 3)", "(2, 4)"), "24 bytes do not match type F32 and shape [2, 4]"));
  EXPECT_TRUE(contains(refusal("(2, 3)", "(2,-3)"), "the header is not that of a numpy array"));
  EXPECT_TRUE(contains(refusal("NUMPY", "LUMPY"), "not a numpy array"));
}

TEST_F(NpzErrors, OfArchives) {
  const std::string whole = read_file(arrays);
  EXPECT_TRUE(contains(refusal_of(""), "not a zip archive"));
  EXPECT_TRUE(contains(refusal_of(whole.substr(0, whole.size() - 9)), "not a zip archive, or a truncated one"));
  EXPECT_TRUE(contains(refusal_of(whole.substr(100)), "damaged"));
  std::string compressed = whole;  // the method stands 10 bytes into an entry of the directory
  compressed[compressed.find("PK\1\2") + 10] = 8;
  EXPECT_TRUE(contains(refusal_of(compressed), "member 'a.npy' is compressed"));
  std::string far = whole;  // the offset of the first member
  far.replace(far.find("PK\1\2") + 42, 4, "\xFF\xFF\xFF\x7F");
  EXPECT_TRUE(contains(refusal_of(far), "truncated or damaged"));
}

}  // namespace
}  // namespace sixfold
