#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

TEST(File, WhatIsWrittenIsRead) {
  const TemporaryFolder folder;
  std::string bytes = "first\n";
  bytes.resize(300'000, '\0');
  write_file_atomically(folder / "a", bytes);
  EXPECT_EQ(read_file(folder / "a"), bytes);
  const MappedFile mapped(folder / "a");
  EXPECT_EQ(text_of(mapped), bytes);
  EXPECT_EQ(folder.entries(), 1);
}

TEST(File, MappedFileMoves) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "aa");
  write_file_atomically(folder / "b", "b");
  MappedFile a(folder / "a"), b(folder / "b");
  b = std::move(a);
  const MappedFile c = std::move(b);
  EXPECT_EQ(text_of(c), "aa");
}

TEST(File, EmptyFiles) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "");
  EXPECT_EQ(read_file(folder / "a"), "");
  EXPECT_TRUE(MappedFile(folder / "a").bytes().empty());
}

TEST(File, ReadingErrorsNameThePath) {
  const TemporaryFolder folder;
  const std::string missing = folder / "missing";
  EXPECT_EQ(error_message([&] { read_file(missing); }), missing + ": can't open: No such file or directory");
  EXPECT_EQ(error_message([&] { MappedFile{missing}; }), missing + ": can't open: No such file or directory");
  const std::string directory = folder.path();
  EXPECT_EQ(error_message([&] { read_file(directory); }), directory + ": is a folder, not a file");
  EXPECT_EQ(error_message([&] { MappedFile{directory}; }), directory + ": is not a regular file");
}

TEST(AtomicFile, WithoutCommitTheOldFileStays) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write(std::string(200'000, 'x'));
    EXPECT_EQ(folder.entries(), 2);
  }
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(AtomicFile, KeepsTheOrderOfSmallAndLargeWrites) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a");
  std::string expected;
  for (const size_t length : {3, 70'000, 1, 65'535, 65'536, 65'537, 0, 2}) {
    const std::string part(length, static_cast<char>('a' + length % 26));
    file.write(part);
    expected += part;
  }
  file.commit();
  EXPECT_EQ(read_file(folder / "a"), expected);
}

TEST(AtomicFile, ReplacesWhatALinkPointsAt) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "real", "old");
  fs::create_symlink("real", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "real"), "new");
}

TEST(AtomicFile, FailuresNameThePathAndTheReason) {
  const TemporaryFolder folder;
  const std::string orphan = folder / "no/such/file";
  EXPECT_EQ(error_message([&] { AtomicFile{orphan}; }), orphan + ": can't write: No such file or directory");
  EXPECT_EQ(error_message([] { AtomicFile{"/dev/null"}; }),
            "/dev/null: is not a regular file; write to standard output and redirect it there");
  const std::string directory = folder.path();
  EXPECT_EQ(error_message([&] { AtomicFile{directory}; }),
            directory + ": is not a regular file; write to standard output and redirect it there");
}

TEST(AtomicFile, AFullDiskIsAnErrorOfTheWorldAndLeavesNothing) {
  const TemporaryFolder folder;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Fault fault = Fault::input;
  std::string message;
  try {
    write_file_atomically(folder / "a", std::string(200'000, 'x'));
  } catch (const Error& error) {
    fault = error.fault();
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(fault, Fault::world);
  EXPECT_EQ(message, (folder / "a") + ": can't write: File too large");
  EXPECT_EQ(folder.entries(), 0);
}

TEST(AtomicDirectory, AppearsWhole) {
  const TemporaryFolder folder;
  AtomicDirectory checkpoint(folder / "checkpoint");
  fs::create_directory(checkpoint.path() + "/model");
  write_file_atomically(checkpoint.path() + "/model/config.json", "{}");
  EXPECT_FALSE(fs::exists(folder / "checkpoint"));
  checkpoint.commit();
  EXPECT_EQ(read_file(folder / "checkpoint/model/config.json"), "{}");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(AtomicDirectory, ReplacesAnOlderOne) {
  const TemporaryFolder folder;
  for (const std::string name : {"first", "second"}) {
    AtomicDirectory checkpoint((folder / "checkpoint") + "/");
    write_file_atomically(checkpoint.path() + "/" + name, name);
    checkpoint.commit();
  }
  EXPECT_TRUE(fs::exists(folder / "checkpoint/second"));
  EXPECT_FALSE(fs::exists(folder / "checkpoint/first"));
  EXPECT_EQ(folder.entries(), 1);
}

TEST(AtomicDirectory, WithoutCommitNothingRemains) {
  const TemporaryFolder folder;
  {
    AtomicDirectory checkpoint(folder / "checkpoint");
    write_file_atomically(checkpoint.path() + "/a", "a");
  }
  EXPECT_EQ(folder.entries(), 0);
}

TEST(AtomicDirectory, DoesNotReplaceAFile) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "");
  EXPECT_EQ(error_message([&] { AtomicDirectory{folder / "a"}; }), (folder / "a") + ": is not a folder");
}

}  // namespace
}  // namespace sixfold
