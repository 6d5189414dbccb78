#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace sixfold {

/// A new folder for one test, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "sixfold-test-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  /// How many files and folders lie in it.
  int entries() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) count += !entry.path().empty();
    return count;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sixfold
