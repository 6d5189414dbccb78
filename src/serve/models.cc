#include "serve/models.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "model_folder/model_folder.h"
#include "model_folder/require_model_folder.h"

namespace sixfold::serve {
namespace {

/// The seconds since 1970.
int64_t seconds_of(std::filesystem::file_time_type time) {
  const auto since_1970 = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// Splits a text at each +, except within the name of a folder: each part is the longest one that exists, and
/// otherwise ends at the next +.
std::vector<std::string> folders_of(std::string text) {
  std::vector<std::string> folders;
  while (true) {
    size_t end = text.size();
    while (end != std::string::npos && !exists(text.substr(0, end)))
      end = end == 0 ? std::string::npos : text.rfind('+', end - 1);
    if (end == std::string::npos) end = std::min(text.find('+'), text.size());
    folders.push_back(text.substr(0, end));
    if (end == text.size()) return folders;
    text.erase(0, end + 1);
  }
}

}  // namespace

ModelSpec::ModelSpec(const std::string& text) : folder(text) {
  const size_t sign = text.find('=');
  if (sign != std::string::npos && text.find('/') > sign) {
    name = text.substr(0, sign);
    folder = text.substr(sign + 1);
    require(!name.empty(), "'{}' has no name before the '='; write en-de=FOLDER", text);
  }
  require(!folder.empty(), "'{}' has no folder; write en-de=FOLDER", text);
  std::vector<std::string> all = folders_of(folder);
  if (all.size() == 1 || !exists(all.front())) return;  // the whole text is the name of a folder
  for (const std::string& one : all)
    require(!one.empty(), "'{}' has no folder behind a '+'; write en-de=FOLDER+FOLDER", text);
  folder = all.front();
  ensemble.assign(all.begin() + 1, all.end());
}

std::string ModelSpec::folders() const {
  std::string all = folder;
  for (const std::string& other : ensemble) all += "+" + other;
  return all;
}

std::string ModelSpec::name_or_folder() const {
  if (!name.empty()) return name;
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

void require_model_folders(const std::vector<ModelSpec>& specs) {
  require(!specs.empty(),
          "no model is given to serve; name the languages and the folder of each, as in en-de=run/model");
  for (const ModelSpec& spec : specs) {
    require_model_folder(spec.folder);
    for (const std::string& other : spec.ensemble) require_model_folder(other);
  }
}

void DecodedByModel::add(const ServedModel& model) {
  const std::lock_guard lock(mutex_);
  loaded_.push_back(&model);
}

void DecodedByModel::remove(const ServedModel& model) {
  const std::lock_guard lock(mutex_);
  loaded_.remove(&model);
  unloaded_[model.name].add(model.predictor().counts());
}

DecodingCounts DecodedByModel::of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto unloaded = unloaded_.find(name);
  DecodingCounts all = unloaded == unloaded_.end() ? DecodingCounts() : unloaded->second;
  for (const ServedModel* model : loaded_)
    if (model->name == name) all.add(model->predictor().counts());
  return all;
}

std::vector<ModelPointer> Models::load(const std::vector<ModelSpec>& specs,
                                       const EngineSettings& settings) const {
  require_model_folders(specs);
  std::vector<ModelPointer> loaded;
  for (const ModelSpec& spec : specs) {
    const ModelConfig config = load_model_config(spec.folder);
    const auto task = std::ranges::find(tasks_, config.task, &ServedTask::task);
    require(task != tasks_.end(), "{}: is a model for the task '{}', which is not served", spec.folder,
            config.task);
    std::unique_ptr<ServedModel> loading = task->load(spec, config, settings);
    loading->folder = spec.folders();
    loading->task = config.task;
    loading->ensemble_size = 1 + spec.ensemble.size();
    loading->created = seconds_of(std::filesystem::last_write_time(spec.folder + "/config.json"));
    decoded_->add(*loading);
    const ModelPointer model(loading.release(), [decoded = decoded_](const ServedModel* unloaded) {
      decoded->remove(*unloaded);
      delete unloaded;
    });
    for (const ModelPointer& other : loaded)
      require(other->name != model->name, "{} and {} are both named '{}'; give one another name, as in NAME={}",
              other->folder, model->folder, model->name, model->folder);
    loaded.push_back(model);
  }
  return loaded;
}

std::vector<ModelPointer> Models::all() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

ModelPointer Models::find(const std::string& name) const {
  for (ModelPointer& model : all())
    if (model->name == name) return std::move(model);
  return nullptr;
}

std::vector<ModelCounts> Models::counts() const {
  std::vector<ModelCounts> counts;
  for (const ModelPointer& model : all()) counts.push_back({model->name, decoded_->of(model->name)});
  return counts;
}

void Models::reload(const std::vector<ModelSpec>& specs, const EngineSettings& settings) {
  std::vector<ModelPointer> loaded = load(specs, settings);
  const std::lock_guard lock(mutex_);
  models_.swap(loaded);
}

}  // namespace sixfold::serve
