#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "model/config.h"
#include "runtime/runtime_options.h"
#include "text/tokenizers.h"

namespace sixfold::cli {

/// The contents of a model folder except its weights.
struct ModelFolder {
  ModelConfig config;
  Tokenizers tokenizers;
};

/// Loads the config and the tokenizers of a model. Throws an input error if the folder is not a model folder,
/// or if the hashes of the tokenizers do not match the config.
ModelFolder load_model_folder(const std::string& folder);
/// The same, but throws an input error if the model has no tokenizers, as a classifier of images.
ModelFolder load_text_model(const std::string& folder);

/// Adds the argument MODEL.
void add_model_argument(CLI::App& command, std::string& folder);

/// Adds --threads. 0, the default, stands for all available threads; a larger number is reduced to these, with
/// a warning.
void add_threads_option(CLI::App& command, int& threads);

/// Options of a command that override the generation settings stored with a model. The object must outlive the
/// command.
class GenerationOverrides {
 public:
  /// Adds --length-penalty, --min-length and so on.
  void add_options(CLI::App& command);
  /// Whether a setting was given on the command line.
  bool has(std::string_view name) const;
  /// The settings of a model, overridden by those that were given; nothing if none was given.
  std::optional<GenerationConfig> apply_to(const GenerationConfig& of_model) const;

 private:
  GenerationConfig values_;
  OptionNode given_;
};

/// Adds --ensemble and the options of its mean.
void add_ensemble_options(CLI::App& command, RuntimeOptions& runtime);

/// Appends the folders of the ensemble to the inputs of a command, with which its output must not collide.
std::vector<std::string> with_ensemble(std::vector<std::string> inputs, const RuntimeOptions& runtime);

/// Adds --precision and --threads.
void add_runtime_options(CLI::App& command, RuntimeOptions& runtime);

}  // namespace sixfold::cli
