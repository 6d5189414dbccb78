#pragma once
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/weight_type.h"
#include "runtime/predictor.h"
#include "serve/metrics.h"

namespace sixfold::serve {

/// What to serve: "en-de=FOLDER", "NAME=FOLDER" for a language model, or a folder alone.
struct ModelSpec {
  std::string name;  ///< empty: from the folder
  std::string folder;

  /// Throws an input error if the text has no folder.
  explicit ModelSpec(const std::string& text);
  /// The name that was given, or else the last part of the path of the folder.
  std::string name_or_folder() const;
};

/// Throws an input error if there is no model, or if a folder is no model.
void require_model_folders(const std::vector<ModelSpec>& specs);

struct EngineSettings {
  int threads = 0;  ///< 0: one for each processor core available
  WeightType precision = WeightType::stored;
  std::optional<int> alignment_layer = {};  ///< instead of that of each model

  RuntimeOptions runtime() const { return {threads, precision, CallingThreads::wait}; }
};

/// A loaded model. Each task that can be served derives a class of its own, which names the task in a constant
/// `task`. Safe to share between threads.
struct ServedModel {
  std::string name;    ///< as it was given, or as the model says
  std::string folder;  ///< as it was given
  std::string task;
  int64_t created = 0;  ///< when the folder was written: seconds since 1970

  virtual ~ServedModel() = default;
  virtual const Predictor& predictor() const = 0;
  /// Adds what is told of a model of this task in /v1/models to what is told of all.
  virtual void describe(nlohmann::ordered_json& /*entry*/) const {}
};

using ModelPointer = std::shared_ptr<const ServedModel>;

class Service;
struct Route;

/// What a task adds to the server: a row of its table.
struct ServedTask {
  std::string_view task;
  /// Loads a model of the task from `spec.folder`, whose config is given, and names it if `spec` does not.
  /// Throws an input error if it can't be served.
  std::unique_ptr<ServedModel> (*open)(const ModelSpec& spec, const ModelConfig& config,
                                       const EngineSettings& settings);
  /// The routes for the models of the task.
  std::vector<Route> (*routes)(Service& service);
};
using ServedTasks = std::span<const ServedTask>;

/// The model as one of a task, such as `ServedTranslation`; null if it is of another task.
template <class Served>
std::shared_ptr<const Served> as(const ModelPointer& model) {
  return model && model->task == Served::task ? std::static_pointer_cast<const Served>(model) : nullptr;
}

/// What models have decoded, by name: those that are served, those that were replaced and still answer
/// requests, and those that ended. Safe to share between threads.
class DecodedByModel {
 public:
  void begin(const ServedModel& model);
  /// The model decodes no more.
  void end(const ServedModel& model);
  DecodingCounts of(const std::string& name) const;

 private:
  mutable std::mutex mutex_;  // guards the members below
  std::list<const ServedModel*> alive_;
  std::map<std::string, DecodingCounts> ended_;
};

/// The models that are served. Safe to share between threads; a request keeps the model that it began with.
class Models {
 public:
  /// Throws an input error if there is none, if one can't be loaded or is of a task without a row in `tasks`,
  /// or if two have the same name.
  Models(const std::vector<ModelSpec>& specs, const EngineSettings& settings, ServedTasks tasks)
      : tasks_(tasks), models_(load(specs, settings)) {}

  std::vector<ModelPointer> all() const;
  /// The model with a name, or null.
  ModelPointer find(const std::string& name) const;
  /// Those of a task.
  template <class Served>
  std::vector<std::shared_ptr<const Served>> all_of() const {
    std::vector<std::shared_ptr<const Served>> found;
    for (const ModelPointer& model : all())
      if (auto served = as<Served>(model)) found.push_back(std::move(served));
    return found;
  }
  ServedTasks tasks() const { return tasks_; }
  /// What each model has decoded since the server began, whenever it was loaded again.
  std::vector<ModelCounts> counts() const;
  /// Loads models from their folders, and serves them instead of the old ones. If one can't be loaded, throws,
  /// and the old ones stay.
  void reload(const std::vector<ModelSpec>& specs, const EngineSettings& settings);

 private:
  std::vector<ModelPointer> load(const std::vector<ModelSpec>& specs, const EngineSettings& settings) const;

  const ServedTasks tasks_;
  const std::shared_ptr<DecodedByModel> decoded_ = std::make_shared<DecodedByModel>();  // the models share it
  mutable std::mutex mutex_;
  std::vector<ModelPointer> models_;
};

}  // namespace sixfold::serve
