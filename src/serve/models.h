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

/// A model to serve: "en-de=FOLDER", "NAME=FOLDER" for a language model, or only a folder. Several folders with
/// a + between them are an ensemble; a + may also be a part of the name of a model folder.
struct ModelSpec {
  std::string name;                   ///< empty: taken from the folder
  std::string folder;                 ///< of the model, or the first one of an ensemble
  std::vector<std::string> ensemble;  ///< folders of its other models

  /// Parses the text. Throws an input error if it has no folder, or an empty one.
  explicit ModelSpec(const std::string& text);
  /// All folders, with a + between them.
  std::string folders() const;
  /// The given name, or else the last part of the path of the folder.
  std::string name_or_folder() const;
};

/// Throws an input error if there are no specs, or if a folder does not contain a model.
void require_model_folders(const std::vector<ModelSpec>& specs);

struct EngineSettings {
  int threads = 0;  ///< 0: one for each processor core available
  WeightType precision = WeightType::stored;
  std::optional<int> alignment_layer = {};  ///< overrides that of each model

  /// How to load the model, or the models, of a spec.
  RuntimeOptions runtime(const ModelSpec& spec) const {
    return {threads, precision, CallingThreads::wait, spec.ensemble};
  }
};

/// A loaded model. Each task that can be served has a derived class with a constant `task`, the name of the
/// task. Safe to share between threads.
struct ServedModel {
  std::string name;    ///< from the `ModelSpec`, or else from the model
  std::string folder;  ///< `folders` of the `ModelSpec`
  std::string task;
  size_t ensemble_size = 1;  ///< number of its models
  int64_t created = 0;       ///< when the folder was written: seconds since 1970

  virtual ~ServedModel() = default;
  virtual const Predictor& predictor() const = 0;
  /// Adds the fields that are specific to the task to the model's entry in /v1/models.
  virtual void describe(nlohmann::ordered_json& /*entry*/) const {}
};

using ModelPointer = std::shared_ptr<const ServedModel>;

class Service;
struct Route;

/// What a task adds to the server: a row of the table of served tasks.
struct ServedTask {
  std::string_view task;
  /// Loads a model of the task from `spec.folder`, whose config is `config`, and gives it a name if `spec` has
  /// none. Throws an input error if it can't be served.
  std::unique_ptr<ServedModel> (*load)(const ModelSpec& spec, const ModelConfig& config,
                                       const EngineSettings& settings);
  /// The routes for the models of the task.
  std::vector<Route> (*routes)(Service& service);
};
using ServedTasks = std::span<const ServedTask>;

/// Casts a model to the class of a task, such as `ServedTranslation`; null if it is a model of another task.
template <class Served>
std::shared_ptr<const Served> as(const ModelPointer& model) {
  return model && model->task == Served::task ? std::static_pointer_cast<const Served>(model) : nullptr;
}

/// Counts what models have decoded, by name: models that are served, models that were replaced but still answer
/// requests, and models that were unloaded. Safe to share between threads.
class DecodedByModel {
 public:
  /// Counts what the model decodes from now on, until `remove`.
  void add(const ServedModel& model);
  /// Called before a model is destroyed: keeps its counts.
  void remove(const ServedModel& model);
  DecodingCounts of(const std::string& name) const;

 private:
  mutable std::mutex mutex_;  // guards the members below
  std::list<const ServedModel*> loaded_;
  std::map<std::string, DecodingCounts> unloaded_;  // by name of the model
};

/// The models that are served. Safe to share between threads. A request keeps its model, even if that is
/// replaced meanwhile.
class Models {
 public:
  /// Loads the models. Throws an input error if there are no specs, if a model can't be loaded or its task has
  /// no row in `tasks`, or if two models have the same name.
  Models(const std::vector<ModelSpec>& specs, const EngineSettings& settings, ServedTasks tasks)
      : tasks_(tasks), models_(load(specs, settings)) {}

  std::vector<ModelPointer> all() const;
  /// The model with this name, or null.
  ModelPointer find(const std::string& name) const;
  /// All models of a task.
  template <class Served>
  std::vector<std::shared_ptr<const Served>> all_of() const {
    std::vector<std::shared_ptr<const Served>> found;
    for (const ModelPointer& model : all())
      if (auto served = as<Served>(model)) found.push_back(std::move(served));
    return found;
  }
  ServedTasks tasks() const { return tasks_; }
  /// What each model has decoded since the server was started, also before the model was reloaded.
  std::vector<ModelCounts> counts() const;
  /// Loads models from their folders and replaces the old ones. If a model can't be loaded, throws and keeps
  /// the old models.
  void reload(const std::vector<ModelSpec>& specs, const EngineSettings& settings);

 private:
  std::vector<ModelPointer> load(const std::vector<ModelSpec>& specs, const EngineSettings& settings) const;

  const ServedTasks tasks_;
  const std::shared_ptr<DecodedByModel> decoded_ = std::make_shared<DecodedByModel>();  // the models share it
  mutable std::mutex mutex_;
  std::vector<ModelPointer> models_;
};

}  // namespace sixfold::serve
