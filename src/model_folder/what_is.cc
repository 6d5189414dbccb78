#include "model_folder/what_is.h"

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

/// The entries of a folder, sorted by name. Empty if it can't be read. (The standard library's iterator ends
/// the program if it has no memory for a name.)
std::vector<fs::path> entries_of(const fs::path& folder) {
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

/// Whether a YAML or JSON file has one of these keys at the top level.
bool has_key(const fs::path& path, std::initializer_list<const char*> keys) {
  std::error_code ignored;
  if (!is_file(path) || fs::file_size(path, ignored) > largest_options_text) return false;
  try {
    const std::string text = read_regular_file(path);
    OptionNode root =
        path.extension() == ".json" ? parse_json_options(text, path) : parse_yaml_options(text, path);
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return root.find(key) != nullptr; });
  } catch (const Error&) {  // reading the file as what it should be gives a better message
    return false;
  }
}

bool is_config_of_training(const fs::path& path) { return has_key(path, {"train", "checkpoint", "schedule"}); }

bool is_config_of_hugging_face(const fs::path& path) {
  return has_key(path, {"architectures", "model_type", "transformers_version"});
}

/// Refuses a model of Hugging Face: what it is, and how it can be converted, if it can.
[[noreturn]] void refuse_hugging_face(const std::string& path, const char* what, const std::string& folder) {
  std::string type;
  try {
    const OptionNode config = parse_json_options(read_regular_file(folder + "/config.json"), folder);
    if (const OptionNode* node = config.find_path("model_type")) type = node->text;
  } catch (const Error&) {  // without a type
  }
  const auto can = {"marian", "gpt2", "llama", "mistral"};
  if (std::ranges::find(can, type) != can.end())
    throw_input_error("{} is {} of Hugging Face; convert it with: sixfold import hf {} --output FOLDER", path,
                      what, folder);
  throw_input_error(
      "{} is {} of Hugging Face of type '{}', which can't be imported; models of the types marian, gpt2, llama "
      "and "
      "mistral can",
      path, what, type);
}

bool looks_like_model(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  return is_file(config) && is_file(folder / "model.safetensors") && !is_config_of_hugging_face(config);
}

/// The subfolders that look like models.
std::vector<fs::path> models_in(const fs::path& folder) {
  std::vector<fs::path> models = entries_of(folder);
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
  const std::string extension = file.extension(), parent = file.has_parent_path() ? file.parent_path() : ".";
  if (looks_like_model(parent))
    throw_input_error("{} is a file of a model; give the model folder, {}", path, parent);
  if (extension == ".npz")
    throw_input_error(
        "{} is a model of Marian; convert it with: sixfold import marian {} --vocabs SOURCE TARGET "
        "--output FOLDER",
        path, path);
  if (file.filename() == "pytorch_model.bin" || is_config_of_hugging_face(file.parent_path() / "config.json"))
    refuse_hugging_face(path, "a file of a model", parent);
  if (extension == ".bin")
    throw_input_error(
        "{} is a binary model of another program; of Marian's models only the .npz can be imported: sixfold "
        "import marian MODEL.npz --vocabs SOURCE TARGET --output FOLDER",
        path);
  if ((extension == ".yml" || extension == ".yaml") && has_key(file, {"models"}))
    throw_input_error(
        "{} is a decoder configuration of Marian; convert the model with: sixfold import marian {} --output "
        "FOLDER",
        path, path);
  if (is_config_of_training(file))
    throw_input_error("{} is a training config; sixfold train {} --output RUN trains the model RUN/model", path,
                      path);
  throw_input_error("{} is a file, not a model folder; {}", path, what_a_model_is);
}

/// A folder without a config.json.
[[noreturn]] void refuse_folder(const std::string& path) {
  require(::access(path.c_str(), R_OK | X_OK) == 0, "{}: can't be read: {}", path, std::strerror(errno));
  const auto models = models_in(path), entries = entries_of(path);
  if (!models.empty() && models.back().filename().string().starts_with("update-"))
    throw_input_error("{} contains the checkpoints of a training run; the newest is {}", path,
                      models.back().string());
  if (!models.empty())
    throw_input_error("{} is not a model folder, but contains one: {}", path, models.front().string());
  for (const fs::path& entry : entries)
    if (entry.extension() == ".npz" || entry.filename() == "decoder.yml")
      throw_input_error(
          "{} contains a model of Marian; convert it with: sixfold import marian {} --output FOLDER", path,
          is_file(fs::path(path) / "decoder.yml") ? path + "/decoder.yml" : entry.string());
  require(!is_file(fs::path(path) / "model.safetensors"),
          "{} contains weights but no config.json; copy the whole model folder", path);
  require(!entries.empty(), "{} is an empty folder; {}", path, what_a_model_is);
  throw_input_error("{} is not a model folder; {}", path, what_a_model_is);
}

/// Throws an input error for empty files, which gives a clearer message than the parsers of their contents.
void refuse_empty_files(const std::string& path) {
  for (const char* extension : {".json", ".safetensors", ".spm", ".vocab", ".characters", ".bytes", ".bpe"})
    for (const fs::path& file : entries_of(path)) {
      std::error_code ignored;
      require(file.extension() != extension || !is_file(file) || fs::file_size(file, ignored) > 0,
              "{} is empty; copy the model folder again", file.string());
    }
}

}  // namespace

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
  if (is_config_of_hugging_face(config)) refuse_hugging_face(name, "the folder of a model", name);
}

}  // namespace sixfold
