#include "program/demo_folder.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "model_folder/ownership.h"

namespace sixfold::cli {

namespace {

namespace fs = std::filesystem;

/// Throws an input error if the path is a file with other contents, or a broken symbolic link.
void require_same_if_it_exists(const std::string& path, const std::string& contents) {
  require(!fs::is_symlink(path) || fs::exists(path),
          "{}: is a link to a file that does not exist; move it away", path);
  require(!fs::exists(path) || read_regular_file(path) == contents,
          "{}: already exists with other contents; choose another folder, or move the file away", path);
}

}  // namespace

void make_demo_folder(const std::string& option, const std::string& path) {
  require(!path.empty(), "{}: give the name of a new or existing folder", option);
  require_outside_runs(path);
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  require(!fs::exists(status) || fs::is_directory(status),
          "{} {}: is a file; give the name of a new or existing folder", option, path);
  fs::create_directories(path, failure);
  if (failure) throw_environment_error("can't create the folder {}: {}", path, failure.message());
}

void write_demo_files(const std::string& folder, const std::map<std::string, std::string>& files) {
  const auto path_of = [&](const std::string& name) { return (fs::path(folder) / name).string(); };
  for (const auto& file : files) require_same_if_it_exists(path_of(file.first), file.second);
  for (const auto& file : files) {
    const std::string path = path_of(file.first);
    if (fs::exists(path)) continue;
    AtomicFile written(path);
    written.write(file.second);
    if (!written.commit_new())
      require_same_if_it_exists(path, file.second);  // another process has created the file
  }
}

}  // namespace sixfold::cli
