#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

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
  EXPECT_EQ(error_message([&] { MappedFile{directory}; }), directory + ": is a folder, not a file");
}

/// Nobody writes to this pipe: a reader that waited for data would wait for ever.
TEST(File, FilesOfAFolderAreNoPipes) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_message([&] { read_regular_file(pipe); }), pipe + ": is not a regular file");
  EXPECT_EQ(error_message([&] { MappedFile{pipe}; }), pipe + ": is not a regular file");
  EXPECT_EQ(error_message([&] { read_regular_file("/dev/zero"); }), "/dev/zero: is not a regular file");
  std::filesystem::create_symlink(folder / "a", folder / "link");
  write_file_atomically(folder / "a", "text");
  EXPECT_EQ(read_regular_file(folder / "link"), "text");
}

/// A user may name a pipe, as with <(...) of a shell.
TEST(File, PipesThatAUserNamesAreRead) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "text"; });
  EXPECT_EQ(read_file(pipe), "text");
  writer.join();
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

TEST(AtomicFile, MakesOrReplacesWhatALinkPointsAt) {
  const TemporaryFolder folder;
  fs::create_symlink("real", folder / "link");
  write_file_atomically(folder / "link", "old");
  EXPECT_EQ(read_file(folder / "real"), "old");
  write_file_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "real"), "new");
}

TEST(AtomicFile, FailuresNameThePathAndTheReason) {
  const TemporaryFolder folder;
  const std::string orphan = folder / "no/such/file";
  EXPECT_EQ(error_message([&] { AtomicFile{orphan}; }), orphan + ": can't write: No such file or directory");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_message([&] { AtomicFile{folder / "pipe"}; }),
            folder / "pipe" + ": is not a regular file; write to standard output and redirect it to this file");
  const std::string directory = folder.path();
  EXPECT_EQ(error_message([&] { AtomicFile{directory}; }),
            directory + ": is a folder; give the name of a file");
}

TEST(AtomicFile, ADeviceStaysOne) {
  write_file_atomically("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_NE(error_message([] { write_file_atomically("/dev/full", "text"); }).find("No space left"),
            std::string::npos);
}

TEST(AtomicFile, AFullDiskIsAnEnvironmentErrorAndLeavesNothing) {
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
  EXPECT_EQ(fault, Fault::environment);
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

/// Unknown are a file that somebody else put into the folder, and a folder that has the name of a known file.
TEST(AtomicDirectory, KeepsWhatItDoesNotKnow) {
  const TemporaryFolder folder;
  const std::string target = folder / "checkpoint";
  const auto known = [](std::string_view name) { return name == "a" || name == "b"; };
  fs::create_directories(target + "/b");
  write_file_atomically(target + "/b/deep", "mine");
  write_file_atomically(target + "/a", "old");
  write_file_atomically(target + "/notes", "mine");
  fs::create_symlink("/nowhere", target + "/link");
  AtomicDirectory checkpoint(target, known);
  write_file_atomically(checkpoint.path() + "/a", "new");
  checkpoint.commit();
  EXPECT_EQ(read_file(target + "/a"), "new");
  EXPECT_EQ(read_file(target + "/notes"), "mine");
  EXPECT_EQ(read_file(target + "/b/deep"), "mine");
  EXPECT_TRUE(fs::is_symlink(target + "/link"));
  EXPECT_EQ(folder.entries(), 1);
  remove_known_files(target, known);
  EXPECT_FALSE(fs::exists(target + "/a"));
  EXPECT_EQ(read_file(target + "/notes"), "mine");
}

TEST(AtomicDirectory, ReplacesNothingUnlessItKnowsWhat) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "empty");
  AtomicDirectory(folder / "empty").commit();
  write_file_atomically(folder / "empty/a", "mine");
  EXPECT_NE(error_message([&] { AtomicDirectory{folder / "empty"}; }).find("not empty"), std::string::npos);
  AtomicDirectory late(folder / "late");
  fs::create_directory(folder / "late");
  write_file_atomically(folder / "late/a", "mine");
  EXPECT_NE(error_message([&] { late.commit(); }).find("was created by another process in the meantime"),
            std::string::npos);
  AtomicDirectory known(folder / "known", [](std::string_view) { return true; });
  fs::create_directory(folder / "known");
  write_file_atomically(folder / "known/a", "mine");
  EXPECT_NE(error_message([&] { known.commit(); }).find("was created by another process in the meantime"),
            std::string::npos);
  EXPECT_EQ(read_file(folder / "known/a"), "mine");
  EXPECT_EQ(read_file(folder / "late/a"), "mine");
}

TEST(TemporaryName, IsDistinguishedFromOtherNames) {
  const TemporaryFolder folder;
  std::string temporary;
  {
    AtomicDirectory directory(folder / "best");
    temporary = fs::path(directory.path()).filename();
  }
  const auto parsed = parse_temporary_name(temporary);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->name, "best");
  EXPECT_EQ(parsed->process, ::getpid());
  for (const char* name : {"notes.tmp-old", "notes.tmp-", "notes.tmp-1", "notes.tmp-1-", "notes.tmp-1-x",
                           "a.tmp--1-2", "a.tmp-1-2.txt", ".tmp-1-2", "a.tmp-99999999999-1", "a.tmp-1-2-"})
    EXPECT_FALSE(parse_temporary_name(name)) << name;
}

TEST(AppendingFile, GoesOnBehindTheLastWholeLine) {
  const TemporaryFolder folder;
  const std::string path = folder / "log";
  write_file_atomically(path, "one\ntwo\nthr");
  {
    AppendingFile log(path, 100);
    log.append("three\n");
    log.flush_to_disk();
    EXPECT_EQ(log.bytes(), 14);
  }
  EXPECT_EQ(read_file(path), "one\ntwo\nthree\n");
  AppendingFile cut(path, 4);
  EXPECT_EQ(read_file(path), "one\n");
}

/// The part of a line that was written before the disk was full must not become the beginning of the next line.
TEST(AppendingFile, BeginsALineAfterAFailure) {
  const TemporaryFolder folder;
  AppendingFile file(folder / "log");
  file.append("first\n");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_NE(error_message([&] { file.append("a second line\n"); }), "");
  ::setrlimit(RLIMIT_FSIZE, &before);
  file.append("third\n");
  file.append("fourth\n");
  EXPECT_EQ(read_file(folder / "log"), "first\na se\nthird\nfourth\n");
}

TEST(AtomicFile, LeavesNothingWhenASignalEndsTheProcess) {
  const TemporaryFolder folder;
  const auto interrupted = [&] {
    remove_temporary_files_on_signals();
    AtomicFile one(folder / "one"), two(folder / "two");
    one.write("text");
    one.commit();
    ::raise(SIGTERM);
  };
  EXPECT_EXIT(interrupted(), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_EQ(read_file(folder / "one"), "text");
}

TEST(AppendingFile, KeepsWhatOthersAppend) {
  const TemporaryFolder folder;
  const std::string path = folder / "log";
  AppendingFile one(path), two(path);
  one.append("a\n");
  two.append("b\n");
  one.append("c\n");
  EXPECT_EQ(read_file(path), "a\nb\nc\n");
  EXPECT_EQ(two.bytes(), 6);
  fs::resize_file(path, 0);  // as programs that rotate logs do
  two.append("d\n");
  EXPECT_EQ(read_file(path), "d\n");
}

TEST(AtomicFile, MayLeaveAnOlderFileAlone) {
  const TemporaryFolder folder;
  AtomicFile one(folder / "file"), two(folder / "file");
  one.write("one"), two.write("two");
  EXPECT_TRUE(one.commit_new());
  EXPECT_FALSE(two.commit_new());
  EXPECT_EQ(read_file(folder / "file"), "one");
}

TEST(AtomicFile, FollowsLinksToWhatDoesNotExist) {
  const TemporaryFolder folder;
  fs::create_symlink("file", folder / "link");
  EXPECT_EQ(resolve_link(folder / "link"), folder / "file");
  EXPECT_EQ(resolve_link(folder / "link//"), folder / "file");
  EXPECT_EQ(resolve_link("/"), "/");
  write_file_atomically(folder / "link", "text");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "file"), "text");
  EXPECT_THROW(write_file_atomically(folder / "new/", "text"), Error);
}

TEST(AtomicFile, KeepsWhoMayReadTheOlderFile) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "secret", "old");
  fs::permissions(folder / "secret", fs::perms::owner_read | fs::perms::owner_write);
  write_file_atomically(folder / "secret", "new");
  EXPECT_EQ(fs::status(folder / "secret").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(AtomicFile, CanBeOverwrittenBeforeItIsWhole) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a");
  file.write(std::string("????: "));
  file.write(std::string(100'000, 'x'));
  file.overwrite(0, "1234");
  file.write(std::string("end"));
  file.commit();
  const std::string text = read_file(folder / "a");
  EXPECT_EQ(text.substr(0, 8), "1234: xx");
  EXPECT_TRUE(text.ends_with("xend"));
  EXPECT_EQ(text.size(), 100'009u);
}

TEST(AtomicDirectory, ReplacesAnOlderOne) {
  const TemporaryFolder folder;
  for (const std::string name : {"first", "second"}) {
    AtomicDirectory checkpoint((folder / "checkpoint") + "/", [](std::string_view) { return true; });
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
