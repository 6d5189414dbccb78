#pragma once
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/weight_type.h"
#include "serve/metrics.h"
#include "tasks/language_model/generator.h"
#include "tasks/translation/translator.h"
#include "text/sentences.h"

namespace sixfold::serve {

/// The name of a language in English: "German".
std::string language_name(const std::string& code);

/// What to serve: "en-de=FOLDER", "NAME=FOLDER" for a language model, or a folder alone.
struct ModelSpec {
  std::string name;  ///< empty: from the folder
  std::string folder;

  /// Throws an input error if the text has no folder.
  explicit ModelSpec(const std::string& text);
};

/// Throws an input error if there is no model, or if a folder is no model.
void require_model_folders(const std::vector<ModelSpec>& specs);

struct EngineSettings {
  int threads = 0;  ///< 0: one for each processor core available
  WeightType precision = WeightType::stored;
  std::optional<int> alignment_layer = {};  ///< instead of that of each model
};

/// A loaded model. Safe to share between threads.
struct ServedModel {
  std::string name;                      ///< "en-de", or the name of a language model
  std::string folder;                    ///< as it was given
  std::string source, target;            ///< codes of the languages; empty for a language model
  int64_t created;                       ///< when the folder was written: seconds since 1970
  std::optional<Translator> translator;  ///< exactly one of these
  std::optional<Generator> generator;
  std::optional<SentenceSplitter> splitter;  ///< for the source language
  std::optional<int> alignment_layer;        ///< instead of that of the model

  /// Throws an input error if the folder is not a model that can be served, or if its languages are not known.
  ServedModel(const ModelSpec& spec, const EngineSettings& settings);
  /// What it has decoded.
  DecodingCounts counts() const { return translator ? translator->counts() : generator->counts(); }
};

using ModelPointer = std::shared_ptr<const ServedModel>;

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
  /// Throws an input error if there is none, if one can't be loaded, or if two have the same name.
  Models(const std::vector<ModelSpec>& specs, const EngineSettings& settings)
      : models_(load(specs, settings)) {}

  std::vector<ModelPointer> all() const;
  /// The model with a name, or null.
  ModelPointer named(const std::string& name) const;
  /// The model that translates between two languages, or null.
  ModelPointer between(const std::string& source, const std::string& target) const;
  /// The codes of the source languages, without repetition, in the order of the models; with a target, only of
  /// those that are translated into it.
  std::vector<std::string> sources(const std::string& target = "") const;
  /// Those and, after them, the codes of the target languages, without repetition.
  std::vector<std::string> languages() const;
  /// What each model has decoded since the server began, whenever it was loaded again.
  std::vector<ModelCounts> counts() const;
  /// Loads models from their folders, and serves them instead of the old ones. If one can't be loaded, throws,
  /// and the old ones stay.
  void reload(const std::vector<ModelSpec>& specs, const EngineSettings& settings);

 private:
  std::vector<ModelPointer> load(const std::vector<ModelSpec>& specs, const EngineSettings& settings) const;

  const std::shared_ptr<DecodedByModel> decoded_ = std::make_shared<DecodedByModel>();  // the models share it
  mutable std::mutex mutex_;
  std::vector<ModelPointer> models_;
};

}  // namespace sixfold::serve
