#include "model_folder/ownership.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

TEST(Ownership, KnowsTheSameFileByOtherNames) {
  const TemporaryFolder folder;
  const std::string file = folder / "file", other = folder / "other", missing = folder / "missing";
  write_file_atomically(file, "1");
  write_file_atomically(other, "1");
  std::filesystem::create_symlink(file, folder / "link");
  std::filesystem::create_symlink(missing, folder / "dangling");
  std::filesystem::create_hard_link(file, folder / "hard");
  EXPECT_TRUE(is_same_file(file, file));
  EXPECT_TRUE(is_same_file(file, folder / "link"));
  EXPECT_TRUE(is_same_file(folder / "hard", file));
  EXPECT_TRUE(is_same_file(missing, folder / "sub/../missing"));
  EXPECT_TRUE(is_same_file(missing, folder / "dangling"));
  EXPECT_FALSE(is_same_file(file, other));
  EXPECT_TRUE(is_same_file("/dev/null", "/dev/../dev/null")) << "a device";
  EXPECT_FALSE(is_same_file("/dev/null", "/dev/zero"));
  EXPECT_FALSE(is_same_file(file, missing));
  EXPECT_FALSE(is_same_file(file, ""));
}

/// Both are called "file (deleted)".
TEST(Ownership, FilesOfOneNameThatWereDeletedDiffer) {
  const TemporaryFolder folder;
  const std::string file = folder / "file";
  std::string open[2];
  for (std::string& path : open) {
    write_file_atomically(file, "1");
    path = "/dev/fd/" + std::to_string(::open(file.c_str(), O_RDONLY));
    std::filesystem::remove(file);
  }
  EXPECT_FALSE(is_same_file(open[0], open[1]));
  EXPECT_TRUE(is_same_file(open[0], open[0]));
  for (const std::string& path : open) ::close(std::stoi(path.substr(8)));
}

}  // namespace
}  // namespace sixfold
