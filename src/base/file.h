#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

/// The whole of a file (or pipe). Throws an input error that names a file which is not there or can't be
/// opened.
std::string read_file(const std::string& path);

/// A regular file mapped into memory, read-only, for the life of the object. An empty file gives an empty span.
class MappedFile {
 public:
  /// Throws an input error when the file can't be opened or is no regular file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Tells the system that the contents are not needed for now: what is looked at again is read again.
  void let_go_pages() const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// A file that appears whole or not at all: what is written goes to a temporary file beside the target, and
/// `commit` puts it on disk and gives it its name. Without `commit` the temporary file is removed and an older
/// file of that name stays as it was. Every failure to write is an environment error naming the path and the
/// system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Puts bytes in the place of some that were written before.
  void overwrite(int64_t offset, std::string_view bytes);
  /// Writes what is buffered, flushes the file to disk, renames it and flushes the folder. Call once, last.
  void commit();

 private:
  void flush();
  void write_through(std::span<const std::byte> bytes);

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  int descriptor_ = -1;
};

/// Writes a file in one go, by `AtomicFile`.
void write_file_atomically(const std::string& path, std::string_view bytes);

/// A file that grows line by line, each at the system as soon as it is written.
class AppendingFile {
 public:
  /// Cuts the file back to so many bytes first, or makes it. A file that is shorter is cut back to its last
  /// whole line, with a warning. Failures are environment errors as for `AtomicFile`.
  AppendingFile(const std::string& path, int64_t bytes);
  ~AppendingFile();
  AppendingFile(const AppendingFile&) = delete;
  AppendingFile& operator=(const AppendingFile&) = delete;

  void append(std::string_view text);
  /// Flushes to disk what was appended.
  void flush_to_disk();
  int64_t bytes() const { return bytes_; }

 private:
  std::string path_;
  int descriptor_;
  int64_t bytes_;
};

/// Tells by its name whether a file of a folder is ours to replace.
using KnownFile = std::function<bool(std::string_view name)>;

/// A folder that appears whole or not at all: write the files into `path()`, then `commit`. Where a folder has
/// the name already, its known files are replaced, all else that lies in it is kept; at no time, where the file
/// system can exchange two names, is there no folder. Without `commit` nothing remains. Errors as for
/// `AtomicFile`.
class AtomicDirectory {
 public:
  /// Without `known` no file is: a folder that is there and not empty is an input error.
  explicit AtomicDirectory(const std::string& target, KnownFile known = {});
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  /// Where to write until `commit`: a new, empty folder beside the target.
  const std::string& path() const { return temporary_; }
  /// Flushes every file in the folder to disk, renames the folder to the target and flushes the parent. Call
  /// once.
  void commit();

 private:
  void replace_target();
  void discard_old(const std::string& old);

  std::string target_;
  KnownFile known_;
  std::string temporary_;  ///< empty once there is nothing to clean up
};

/// Removes the known files of a folder, and the folder where nothing is left in it. What can't be removed
/// stays.
void remove_known_files(const std::string& folder, const KnownFile& known);

/// A temporary name as `AtomicFile` and `AtomicDirectory` make them: "NAME.tmp-PROCESS-COUNT".
struct TemporaryName {
  std::string name;  ///< what the whole file would be called
  int process = 0;
};
/// None for any other name.
std::optional<TemporaryName> parse_temporary_name(std::string_view file_name);

}  // namespace sixfold
