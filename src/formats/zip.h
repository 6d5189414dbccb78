#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"

namespace sixfold {

/// A zip archive whose members are stored as they are, mapped into memory: what numpy.savez and torch.save
/// write. (The format is PKWARE's APPNOTE.TXT; 64-bit sizes are read, compressed and encrypted members are
/// refused.)
class ZipFile {
 public:
  /// Reads and checks the directory. Throws an input error that names the file, the member and what is wrong.
  static ZipFile open(const std::string& path);
  /// Whether a file begins as a zip archive does.
  static bool looks_like_one(std::span<const std::byte> bytes);

  const std::string& path() const { return path_; }
  const std::map<std::string, std::span<const std::byte>, std::less<>>& members() const { return members_; }

 private:
  explicit ZipFile(const std::string& path) : path_(path), file_(path) {}

  std::string path_;
  MappedFile file_;
  std::map<std::string, std::span<const std::byte>, std::less<>> members_;
};

}  // namespace sixfold
