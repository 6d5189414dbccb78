#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "model/model_dir.h"
#include "translate/sealed.h"

namespace sixfold {
namespace fs = std::filesystem;

void Checkpoints::save(const Transformer& model, const Tokenizers& tokenizers, const Optimizer& optimizer,
                       const TrainingState& state, const std::function<void(const std::string&)>& add) const {
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) throw_world_error("{}: can't make the folder: {}", folder_, failure.message());
  write_model_folder(fmt::format("{}/update-{:09}", folder_, state.update), model, tokenizers,
                     [&](const std::string& folder) {
                       write_parameters(folder + "/optimizer.safetensors", optimizer.state(), *model.backend());
                       write_file_atomically(folder + "/state.json", to_json_text(state));
                       add(folder);
                     });
  const auto all = list();
  for (size_t i = 0; i + static_cast<size_t>(keep_last_) < all.size(); ++i) {
    std::error_code ignored;  // one that stays takes room, no more
    fs::remove_all(all[i], ignored);
  }
}

void Checkpoints::load(const std::string& checkpoint, const Transformer& model, const Optimizer& optimizer) {
  load_weights(checkpoint + "/model.safetensors", model);
  read_parameters(checkpoint + "/optimizer.safetensors", optimizer.state(), *model.backend());
}

TrainingState Checkpoints::read_state(const std::string& checkpoint) {
  const std::string path = checkpoint + "/state.json";
  return parse_training_state(read_file(path), path);
}

std::vector<std::string> Checkpoints::list() const {
  std::vector<std::string> found;
  if (!fs::is_directory(folder_)) return found;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("update-") && name.size() == std::string("update-000000000").size())
      found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace sixfold
