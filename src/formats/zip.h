#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"

namespace sixfold {

/// A zip archive, mapped into memory, whose members are stored without compression, as numpy.savez and
/// torch.save write them. (PKWARE's APPNOTE.TXT describes the format. 64-bit sizes are supported; compressed
/// and encrypted members are not.)
class ZipFile {
 public:
  /// Reads and checks the directory of the archive. Throws an input error that names the file and the member.
  static ZipFile open(const std::string& path);
  /// Whether the bytes of a file begin with the magic number of a zip archive.
  static bool has_magic(std::span<const std::byte> bytes);

  const std::string& path() const { return path_; }
  const std::map<std::string, std::span<const std::byte>, std::less<>>& members() const { return members_; }

 private:
  explicit ZipFile(const std::string& path) : path_(path), file_(path) {}

  std::string path_;
  MappedFile file_;
  std::map<std::string, std::span<const std::byte>, std::less<>> members_;
};

}  // namespace sixfold
