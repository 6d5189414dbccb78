#include "model_folder/require_model_folder.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "model_folder/ownership.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr const char* what_a_model_is =
    "a model folder contains config.json, model.safetensors and a tokenizer, as made by 'sixfold train'";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_config_of_training(const fs::path& path) {
  return has_top_level_key(path, {"train", "checkpoint", "schedule"});
}

bool looks_like_model(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  return is_file(config) && is_file(folder / "model.safetensors") && !is_config_of_hugging_face(config);
}

/// The subfolders that look like models.
std::vector<fs::path> models_in(const fs::path& folder) {
  std::vector<fs::path> models = folder_entries(folder);
  std::erase_if(models, [](const fs::path& path) { return !looks_like_model(path); });
  return models;
}

[[noreturn]] void refuse_run(const std::string& path) {
  const fs::path model = fs::path(path) / "model";
  if (looks_like_model(model)) throw_input_error("{} is a training run; its model is {}", path, model.string());
  const auto checkpoints = models_in(fs::path(path) / "checkpoints");
  require(!checkpoints.empty(), "{} is a training run that has neither a model nor a checkpoint yet", path);
  throw_input_error("{} is a training run that has not ended; its newest checkpoint is {}", path,
                    checkpoints.back().string());
}

[[noreturn]] void refuse_file(const std::string& path) {
  const fs::path file(path);
  const std::string parent = file.has_parent_path() ? file.parent_path() : ".";
  if (looks_like_model(parent))
    throw_input_error("{} is a file of a model; give the model folder, {}", path, parent);
  if (is_config_of_training(file))
    throw_input_error("{} is a training config; sixfold train {} --output RUN trains the model RUN/model", path,
                      path);
  throw NotAModelFolder(path, fmt::format("{} is a file, not a model folder; {}", path, what_a_model_is));
}

/// A folder without a config.json.
[[noreturn]] void refuse_folder(const std::string& path) {
  require(::access(path.c_str(), R_OK | X_OK) == 0, "{}: can't be read: {}", path, std::strerror(errno));
  const auto models = models_in(path), entries = folder_entries(path);
  if (!models.empty() && models.back().filename().string().starts_with("update-"))
    throw_input_error("{} contains the checkpoints of a training run; the newest is {}", path,
                      models.back().string());
  if (!models.empty())
    throw_input_error("{} is not a model folder, but contains one: {}", path, models.front().string());
  require(!entries.empty(), "{} is an empty folder; {}", path, what_a_model_is);
  if (is_file(fs::path(path) / "model.safetensors"))
    throw NotAModelFolder(
        path, fmt::format("{} contains weights but no config.json; copy the whole model folder", path));
  throw NotAModelFolder(path, fmt::format("{} is not a model folder; {}", path, what_a_model_is));
}

/// Throws an input error for empty files, which gives a clearer message than the parsers of their contents.
void refuse_empty_files(const std::string& path) {
  const auto files = folder_entries(path);
  for (const char* extension :
       {".json", ".safetensors", ".spm", ".vocab", ".characters", ".bytes", ".hf", ".bpe"})
    for (const fs::path& file : files) {
      std::error_code ignored;
      require(file.extension() != extension || !is_file(file) || fs::file_size(file, ignored) > 0,
              "{} is empty; copy the model folder again", file.string());
    }
}

}  // namespace

// This does not use the iterator of the standard library, which ends the program if memory for a name is
// missing.
std::vector<fs::path> folder_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return entries;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(folder / name);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool has_top_level_key(const fs::path& path, std::initializer_list<const char*> keys) {
  std::error_code ignored;
  if (!is_file(path) || fs::file_size(path, ignored) > max_options_size) return false;
  try {
    const std::string text = read_regular_file(path);
    if (std::ranges::none_of(keys, [&](const char* key) { return text.find(key) != text.npos; })) return false;
    OptionNode root =
        path.extension() == ".json" ? parse_json_options(text, path) : parse_yaml_options(text, path);
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return root.find(key) != nullptr; });
  } catch (const Error&) {  // reading the file as what it should be gives a better message
    return false;
  }
}

bool is_config_of_hugging_face(const fs::path& path) {
  return has_top_level_key(path, {"architectures", "model_type", "transformers_version"});
}

void require_model_folder(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  require(!name.empty(), "the name of the model folder is empty");
  if (!is_folder(name)) {
    std::error_code ignored;
    require(fs::exists(name, ignored), "{}: there is no file or folder of that name; give a model folder",
            name);
    refuse_file(name);
  }
  const fs::path config = fs::path(name) / "config.json";
  if (is_run_folder(name) || is_config_of_training(config)) refuse_run(name);
  if (!is_file(config)) refuse_folder(name);
  refuse_empty_files(name);
  if (is_config_of_hugging_face(config))
    throw NotAModelFolder(name,
                          fmt::format("{} is the folder of a model of Hugging Face, which must be imported "
                                      "first",
                                      name));
  if (is_file(fs::path(name) / "model.bin") && !is_file(fs::path(name) / "model.safetensors"))
    throw NotAModelFolder(name, fmt::format("{} has the weights of another program (model.bin), from which it "
                                            "must be imported first",
                                            name));
}

}  // namespace sixfold
