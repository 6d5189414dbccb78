#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "formats/safetensors.h"
#include "model_folder/model_folder.h"
#include "model_folder/ownership.h"

namespace sixfold {
namespace fs = std::filesystem;
namespace {

/// Whether a folder has a file of a checkpoint. Other files in it are not ours, and are never removed.
bool has_checkpoint_file(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (is_checkpoint_file(entry.path().filename().string())) return true;
  return false;
}

/// Whether the checkpoint was made because the run was stopped.
bool is_of_interruption(const std::string& checkpoint) {
  try {
    return Checkpoints::read_state(checkpoint).interrupted;
  } catch (const Error&) {  // damaged
    return false;
  }
}

/// Identifies the config, the weights and the optimizer's state of a checkpoint. Throws an input error if one
/// is missing.
std::string hash_of_parts(const std::string& checkpoint) {
  std::string all = read_regular_file(checkpoint + "/config.json");
  for (const char* file : {"/model.safetensors", "/optimizer.safetensors"})
    all += SafetensorsFile::open(checkpoint + file).checksum();
  return hash_hex(all);
}

/// Throws an input error if files of the checkpoint are those of another one.
void require_parts(const std::string& checkpoint) {
  const std::string parts = Checkpoints::read_state(checkpoint).parts;
  require(parts.empty() || parts == hash_of_parts(checkpoint),
          "{}: config.json, model.safetensors, optimizer.safetensors and state.json are not those of one "
          "checkpoint; "
          "restore the files",
          checkpoint);
}

}  // namespace

void Checkpoints::save(const Transformer& model, const Optimizer& optimizer, const TrainingState& state,
                       const std::function<void(const std::string&)>& add) const {
  if (!optimizer.is_root()) return optimizer.save("");
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) throw_environment_error("{}: can't create the folder: {}", folder_, failure.message());
  const std::string saved = path(state.update);
  write_model_folder(saved, model, [&](const std::string& folder) {
    optimizer.save(folder + "/optimizer.safetensors");
    TrainingState stored = state;
    stored.parts = hash_of_parts(folder);
    write_file_atomically(folder + "/state.json", to_json_text(stored));
    add(folder);
  });
  for (const std::string& checkpoint : list())
    if (checkpoint != saved && is_of_interruption(checkpoint))
      remove_known_files(checkpoint, is_checkpoint_file);  // failing to remove one costs only disk space
  const auto kept = scheduled();
  for (size_t i = 0; i + static_cast<size_t>(keep_last_) < kept.size(); ++i)
    remove_known_files(kept[i], is_checkpoint_file);
}

void Checkpoints::load(const std::string& checkpoint, Transformer& model, Optimizer& optimizer) {
  require_parts(checkpoint);
  load_weights(checkpoint + "/model.safetensors", model);
  optimizer.load(checkpoint + "/optimizer.safetensors");
}

void Checkpoints::load_mean(const std::vector<std::string>& checkpoints, Transformer& model) {
  struct Files {
    SafetensorsFile weights, state;
  };
  std::vector<Files> files;
  for (const std::string& checkpoint : checkpoints) {
    load_weights(checkpoint + "/model.safetensors", model);  // checks them
    files.push_back({SafetensorsFile::open(checkpoint + "/model.safetensors"),
                     SafetensorsFile::open(checkpoint + "/optimizer.safetensors")});
  }
  for (Parameter& parameter : model.stored()) {
    const std::string average = "average." + parameter.name;
    const bool averages =
        std::ranges::all_of(files, [&](const Files& checkpoint) { return checkpoint.state.find(average); });
    std::vector<double> mean(static_cast<size_t>(parameter.tensor.size()));
    for (const Files& checkpoint : files) {
      const std::vector<float> values =
          to_floats(averages ? checkpoint.state.at(average) : checkpoint.weights.at(parameter.name));
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += values.at(i);
    }
    for (double& value : mean) value /= static_cast<double>(files.size());
    parameter.tensor.copy_from(*model.backend(), mean);
  }
}

TrainingState Checkpoints::read_state(const std::string& checkpoint) {
  const std::string path = checkpoint + "/state.json";
  return parse_training_state(read_regular_file(path), path);
}

void Checkpoints::verify(const std::string& checkpoint) {
  for (const char* file : {"/model.safetensors", "/optimizer.safetensors"})
    verify_parameters(checkpoint + file);
  require_parts(checkpoint);
}

bool Checkpoints::is_checkpoint_name(const std::string& name) {
  return name.starts_with("update-") && name.size() >= std::string("update-000000000").size() &&
         name.find_first_not_of("0123456789", std::string("update-").size()) == name.npos;
}

std::vector<std::string> Checkpoints::list() const {
  std::vector<std::string> found;
  std::error_code failure;
  const fs::directory_iterator entries(folder_, failure);
  if (failure == std::errc::no_such_file_or_directory) return found;
  if (failure) throw_environment_error("{}: can't read: {}", folder_, failure.message());
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (is_checkpoint_name(name) && has_checkpoint_file(entry.path())) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> Checkpoints::scheduled() const {
  auto all = list();
  std::erase_if(all, is_of_interruption);
  return all;
}

std::string Checkpoints::path(int64_t update) const { return fmt::format("{}/update-{:09}", folder_, update); }

}  // namespace sixfold
