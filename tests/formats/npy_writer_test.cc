#include "formats/npy_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

/// The header is that of numpy.lib.format, as numpy.save writes it for the array [[0, 0.5], [-1, 2]] but for
/// the spaces before its end.
TEST(NpyWriter, WritesAnArrayOfNumpy) {
  const TemporaryFolder folder;
  NpyWriter writer(folder / "a.npy", 2);
  writer.write(std::vector<float>{0, 0.5f});
  writer.write(std::vector<float>{-1, 2});
  EXPECT_FALSE(std::filesystem::exists(folder / "a.npy")) << "before it is complete";
  writer.close();
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  header.resize(117, ' ');
  const std::string numbers("\0\0\0\0\0\0\0\x3F\0\0\x80\xBF\0\0\0\x40", 16);
  EXPECT_EQ(read_file(folder / "a.npy"), std::string("\x93NUMPY\x01\0\x76\0", 10) + header + "\n" + numbers);
}

TEST(NpyWriter, WritesAnArrayWithoutRows) {
  const TemporaryFolder folder;
  NpyWriter writer(folder / "a.npy", 384);
  writer.close();
  const std::string bytes = read_file(folder / "a.npy");
  EXPECT_EQ(bytes.size(), 128u);
  EXPECT_NE(bytes.find("'shape': (0, 384), }"), std::string::npos);
}

TEST(NpyWriter, LeavesNothingBehindIfItIsNotClosed) {
  const TemporaryFolder folder;
  {
    NpyWriter writer(folder / "a.npy", 2);
    writer.write(std::vector<float>{0, 0.5f});
    EXPECT_NE(error_message([&] { writer.write(std::vector<float>{0}); }), "");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace sixfold
