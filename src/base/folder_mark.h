#pragma once
#include <string>
#include <string_view>

namespace sixfold {

/// The file that marks a folder as Sixfold's own, and the lock of the process that works in the folder. The
/// file stays when the object ends; the lock does not.
class FolderMark {
 public:
  /// Opens or creates the file `name` in an existing folder, locks it, and writes `text` if the file is empty.
  /// If another process holds the lock, throws an input error: "FOLDER: " and `busy`. A failure to write is an
  /// environment error.
  FolderMark(const std::string& folder, std::string_view name, std::string_view text, std::string_view busy);
  ~FolderMark();
  FolderMark(const FolderMark&) = delete;
  FolderMark& operator=(const FolderMark&) = delete;

  const std::string& path() const { return path_; }
  void append(std::string_view text) const;

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace sixfold
