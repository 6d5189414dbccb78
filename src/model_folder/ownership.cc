#include "model_folder/ownership.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "model_folder/config_file.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// history.json is what version 0.1.0 called provenance.json.
constexpr std::array<std::string_view, 5> model_files = {"config.json", "model.safetensors", "provenance.json",
                                                         "history.json", "shortlist.safetensors"};
constexpr std::array<std::string_view, 2> additional_checkpoint_files = {"optimizer.safetensors", "state.json"};
constexpr std::array<std::string_view, 9> run_parts = {run_mark,        "config.json",  "train.jsonl",
                                                       "checkpoints",   "best",         "model",
                                                       "diverged.json", "encoded-text", "validation-text.json"};

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The path with links and dots resolved, as far as it exists. A link to what does not exist is followed too,
/// as `AtomicFile` does.
fs::path real_path(const std::string& path) {
  std::error_code failure;
  const fs::path real = fs::weakly_canonical(fs::absolute(resolve_link(path), failure), failure);
  const fs::path clean = failure ? fs::absolute(path, failure).lexically_normal() : real;
  return clean.has_filename() ? clean : clean.parent_path();
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
  const auto [rest, end] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return rest == outer.end();
}

/// The folder of the run that the path is a part of, or an empty path.
fs::path run_around(const fs::path& path) {
  for (fs::path part = path; part.has_relative_path(); part = part.parent_path())
    if (is_run_part(part.filename().string()) && is_run_folder(part.parent_path().string()))
      return part.parent_path();
  return {};
}

void require_no_part_of_a_run(const std::string& output, const fs::path& real) {
  const fs::path run = run_around(real);
  require(run.empty(),
          "{}: belongs to the training run {}, and only that run writes there; choose another output", output,
          run.string());
}

/// The paths to which the links in a folder lead, such as the files of a store.
std::vector<fs::path> linked_files(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.is_symlink(none)) files.push_back(real_path(entry.path().string()));
  return files;
}

/// The inputs, and the base models of those that store separate adapters.
std::vector<std::string> with_bases(std::vector<std::string> inputs) {
  for (size_t i = 0; i < inputs.size() && inputs.size() < 1000; ++i) {
    const fs::path config = fs::path(inputs[i]) / "config.json";
    std::error_code none;
    if (!fs::is_regular_file(config, none)) continue;
    try {
      const std::string base = load_config(config).adapters.base;
      if (!base.empty() && std::ranges::count(inputs, base) == 0) inputs.push_back(base);
    } catch (const Error&) {  // not a config of Sixfold, or damaged: the input has no known base
    }
  }
  return inputs;
}

void require_separate(const std::string& folder, const std::vector<std::string>& inputs) {
  const fs::path output = real_path(folder);
  require_no_part_of_a_run(folder, output);
  for (const std::string& name : with_bases(inputs)) {
    const fs::path input = real_path(name);
    const char* relation = output == input          ? "is an input of the command"
                           : lies_in(output, input) ? "is inside an input of the command"
                           : lies_in(input, output) ? "contains an input of the command"
                                                    : nullptr;
    require(!relation, "{}: {}, {}; choose another output folder", folder, relation ? relation : "", name);
    for (const fs::path& file : linked_files(name))
      require(!lies_in(file, output),
              "{}: contains {}, to which the input {} has a link; choose another output folder", folder,
              file.string(), name);
  }
}

/// Throws an input error if there is no folder in which `folder` can be made.
void require_parent(const std::string& folder) {
  const fs::path parent = real_path(folder).parent_path();
  std::error_code ignored;
  require(fs::is_directory(parent, ignored),
          "{}: can't be created, since there is no folder {}; create it first", folder, parent.string());
}

/// The name of an entry of the folder that is not a file of a model, or an empty text if there is none.
std::string other_entry(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (entry.is_symlink() || !entry.is_regular_file() || !is_model_file(name)) return name;
  }
  return {};
}

bool has_model_config(const std::string& folder) {
  try {
    load_config(folder + "/config.json");
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether a folder has a mark, a file of this name that begins with this text.
bool has_mark(const std::string& folder, std::string_view name, std::string_view expected) {
  const fs::path mark = fs::path(folder) / name;
  std::error_code failure;
  if (!fs::is_regular_file(mark, failure)) return false;
  std::string text(expected.size(), '\0');
  std::ifstream file(mark, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.gcount() > 0 || !file.eof()) return text == expected;
  // If the process was killed before it wrote the text, the folder has no other files yet.
  return std::distance(fs::directory_iterator(folder, failure), fs::directory_iterator()) == 1;
}

bool is_same(const struct stat& one, const struct stat& two) {
  return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/// Whether a path is the file or pipe that is open as this descriptor. Devices may be both at once.
bool is_open_as(const std::string& path, int descriptor) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 && !S_ISCHR(open.st_mode) &&
         is_same(open, named);
}

}  // namespace

bool is_new_or_empty(const std::string& folder) {
  std::error_code failure;
  const fs::file_status status = fs::status(folder, failure);
  if (!fs::exists(status)) return true;
  require(fs::is_directory(status), "{}: is a file, not a folder; choose a new folder for the output", folder);
  const bool empty = fs::is_empty(folder, failure);
  require(!failure, "{}: can't be read: {}", folder, failure.message());
  return empty;
}

bool is_model_file(std::string_view name) { return is_among(model_files, name) || is_tokenizer_file(name); }

bool is_model_tokenizer(std::string_view name) { return is_tokenizer_file(name); }

bool is_checkpoint_file(std::string_view name) {
  return is_model_file(name) || is_among(additional_checkpoint_files, name);
}

bool is_run_part(std::string_view name) { return is_among(run_parts, name); }

bool is_run_folder(const std::string& folder) { return has_mark(folder, run_mark, run_mark_text); }

bool is_sweep_folder(const std::string& folder) { return has_mark(folder, sweep_mark, sweep_mark_text); }

void require_outside_runs(const std::string& path) { require_no_part_of_a_run(path, real_path(path)); }

void require_new_or_model(const std::string& folder, const std::vector<std::string>& inputs) {
  require(!folder.empty(), "the name of the output folder is empty; name a folder for the new model");
  require_separate(folder, inputs);
  require_parent(folder);
  if (is_new_or_empty(folder)) return;
  const std::string foreign = other_entry(folder);
  require(foreign.empty(),
          "{}: already exists and holds '{}', which is not a file of a model; choose a new folder", folder,
          foreign);
  require(has_model_config(folder),
          "{}: already exists and is not a model folder made by Sixfold; choose a new folder", folder);
}

void require_new(const std::string& folder, const std::vector<std::string>& inputs) {
  require(!folder.empty(), "the name of the output folder is empty; name a folder for the output");
  require_separate(folder, inputs);
  require_parent(folder);
  require(is_new_or_empty(folder), "{}: already exists and is not empty; choose a new folder", folder);
}

void require_new_or_sweep(const std::string& folder, const std::vector<std::string>& runs) {
  require(!folder.empty(), "the name of the output folder is empty; name a folder for the runs");
  require_outside_runs(folder);
  require(is_sweep_folder(folder) || is_new_or_empty(folder),
          "{}: holds other files and is not the folder of a sweep; give a new folder for the runs", folder);
  for (const std::string& run : runs)
    require(is_run_folder(run) || is_new_or_empty(run),
            "{}: holds other files and is not the folder of a training run; rename the recipe, or give another "
            "--output",
            run);
}

void require_new_or_glossaries(const std::string& folder) {
  require_outside_runs(folder);
  if (is_new_or_empty(folder) || has_mark(folder, glossary_mark, glossary_mark_text)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    require(entry.path().filename() == "lost+found",
            "{}: has other files and no glossaries of a server; give a new or empty folder", folder);
}

bool is_same_file(const std::string& path, const std::string& other) {
  struct stat one, two;
  if (::stat(path.c_str(), &one) == 0 && ::stat(other.c_str(), &two) == 0) return is_same(one, two);
  return real_path(path) == real_path(other);
}

void require_output_file(const std::string& path, const std::vector<std::string>& inputs) {
  if (path.empty() || path == "-") return;
  const fs::path output = real_path(path);
  require(!is_open_as(path, STDIN_FILENO),
          "{}: is the standard input of the command; choose another output file", path);
  require(!is_open_as(path, STDOUT_FILENO), "{}: is the standard output of the command; omit the option", path);
  for (const std::string& input : inputs) {
    if (input.empty() || input == "-") continue;
    require(!is_same_file(path, input), "{}: is an input of the command; choose another output file", path);
    for (const fs::path& file : linked_files(input))
      require(file != output, "{}: is a file to which {} has a link; choose another output file", path, input);
  }
  require_no_part_of_a_run(path, output);
  const std::string folder = output.parent_path().string(), name = output.filename().string();
  require(!is_checkpoint_file(name) || !has_model_config(folder),
          "{}: belongs to the model {}; choose another output file", path, folder);
  std::error_code ignored;
  require(!folder.ends_with(".parts") || !fs::exists(fs::path(folder) / translation_parts_mark, ignored),
          "{}: {} holds the parts of a translation, which removes them at its end; choose another output file",
          path, folder);
}

}  // namespace sixfold
