#pragma once
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/error.h"

namespace sixfold {

/// The input error for a path that is neither a model folder nor anything else that Sixfold makes. It may be a
/// model of another program, for which `import_advice` (families/families.h) gives advice.
class NotAModelFolder : public Error {
 public:
  NotAModelFolder(const std::string& path, const std::string& message)
      : Error(Fault::input, message), path_(path) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Throws an input error unless `path` is a model folder, according to the names of its files and the keys of
/// its config.json, and none of its files is empty. The message says what `path` is instead (a training run, a
/// folder of checkpoints, a file) and what to do. Throws `NotAModelFolder` if that is not known.
void require_model_folder(const std::string& path);

/// The entries of a folder, sorted by name. Empty if it can't be read.
std::vector<std::filesystem::path> folder_entries(const std::filesystem::path& folder);

/// Whether a YAML or JSON file has one of these keys at the top level. False if it can't be read as such.
bool has_top_level_key(const std::filesystem::path& path, std::initializer_list<const char*> keys);

/// Whether a config.json is that of a model of Hugging Face.
bool is_config_of_hugging_face(const std::filesystem::path& path);

}  // namespace sixfold
