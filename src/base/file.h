#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

/// Rethrows the exception of a catch block, that of `std::filesystem` as an environment error that names the
/// file.
[[noreturn]] void rethrow_as_error();

/// Reads a whole file or pipe that a user names. Throws an input error that names the file if it can't be
/// opened, and an environment error if it can't be read.
std::string read_file(const std::string& path);

/// Reads a whole file of a folder, which must be a regular one: a named pipe would wait for a writer, perhaps
/// for ever. Throws an input error that names the file if it can't be opened or is not a regular file, and an
/// environment error if it can't be read.
std::string read_regular_file(const std::string& path);

/// A regular file mapped into memory, read-only, for the lifetime of the object. An empty file gives an empty
/// span.
class MappedFile {
 public:
  /// Throws an input error if the file can't be opened or is not a regular file, and an environment error if it
  /// can't be mapped.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Tells the system that the pages are not needed for now. They are read from the file again when accessed.
  void release_pages() const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// Follows symbolic links to the file or folder that they name, which need not exist, so that writing to a link
/// changes its target and does not replace the link. Slashes at the end are dropped.
std::string resolve_link(const std::string& path);

/// A file that is written atomically. Writes go to a temporary file in the same folder; `commit` flushes it to
/// disk and renames it to the target. Without `commit` the destructor removes the temporary file, and an older
/// file with the target's name is not changed. Every failure to write is an environment error that names the
/// path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Replaces bytes that were written before, from `offset` on.
  void overwrite(int64_t offset, std::string_view bytes);
  /// Writes the buffer, flushes the file to disk, renames it and flushes the folder. Call once, last.
  void commit();
  /// The same, unless a file of this name exists: then that file is not changed, and the result is false.
  bool commit_new();

 private:
  void flush();
  void close();
  void write_through(std::span<const std::byte> bytes);

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  int descriptor_ = -1;
};

/// Writes a whole file with `AtomicFile`.
void write_file_atomically(const std::string& path, std::string_view bytes);

/// A file to which lines are appended without buffering. Other processes may append to it too.
class AppendingFile {
 public:
  /// Opens or creates the file.
  explicit AppendingFile(const std::string& path);
  /// Opens or creates the file and truncates it to `bytes` bytes. A shorter file is truncated to its last
  /// complete line, with a warning. Failures are environment errors as for `AtomicFile`.
  AppendingFile(const std::string& path, int64_t bytes);
  ~AppendingFile();
  AppendingFile(const AppendingFile&) = delete;
  AppendingFile& operator=(const AppendingFile&) = delete;

  /// If an append fails, as on a full disk, a part of its text may remain in the file; the next append then
  /// begins a new line.
  void append(std::string_view text);
  /// Flushes the file to disk.
  void flush_to_disk();
  /// The size of the file.
  int64_t bytes() const;

 private:
  std::string path_;
  int descriptor_;
  bool torn_ = false;  ///< whether the last append failed
};

/// From now on SIGINT, SIGTERM and SIGHUP, unless they are ignored, remove the temporary files of every
/// `AtomicFile` before they end the process. For the beginning of a program.
void remove_temporary_files_on_signals();

/// Says by its name whether a file of a folder may be replaced.
using KnownFile = std::function<bool(std::string_view name)>;

/// A folder that is written atomically: write its files into `path()`, then call `commit`. If a folder with the
/// target's name exists, its known files are replaced and all other files in it are kept. If the file system
/// can exchange two names, the target exists at any time. Without `commit` the destructor removes the new
/// folder. Errors as for `AtomicFile`.
class AtomicDirectory {
 public:
  /// Without `known` no file may be replaced: a target that is not empty is an input error.
  explicit AtomicDirectory(const std::string& target, KnownFile known = {});
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  /// The folder to write to before `commit`: a new, empty folder beside the target.
  const std::string& path() const { return temporary_; }
  /// Flushes every file in the folder to disk, renames the folder to the target and flushes the parent. Call
  /// once.
  void commit();

 private:
  void replace_target();
  void discard_old(const std::string& old);

  std::string target_;
  KnownFile known_;
  std::string temporary_;  ///< empty if there is nothing to clean up
};

/// Removes the known files of a folder, and the folder if it is then empty. Files that can't be removed are
/// kept without an error.
void remove_known_files(const std::string& folder, const KnownFile& known);

/// A temporary name of `AtomicFile` or `AtomicDirectory`: "NAME.tmp-PROCESS-COUNT".
struct TemporaryName {
  std::string name;  ///< the name of the target
  int process = 0;
};
/// Returns nothing for any other name.
std::optional<TemporaryName> parse_temporary_name(std::string_view file_name);

/// The folder of temporary files: that of TMPDIR, or /tmp. Throws an environment error if there is none.
std::string temporary_folder();

}  // namespace sixfold
