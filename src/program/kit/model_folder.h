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

/// Throws an input error if the folder is not a model, or if the hashes of its tokenizers do not match its
/// config.
ModelFolder open_model_folder(const std::string& folder);
/// The same of a model with tokenizers. Throws an input error if it has none, as a classifier of images.
ModelFolder open_text_model(const std::string& folder);

/// Adds the argument MODEL.
void add_model_argument(CLI::App& command, std::string& folder);

/// Adds --threads; 0, the default: all that are available. More than these are not used, with a warning.
void add_threads_option(CLI::App& command, int& threads);
/// The generation settings of a command, in place of those that are stored with a model. It outlives the
/// command.
class GenerationOverrides {
 public:
  /// Adds --length-penalty, --min-length and so on.
  void add_options(CLI::App& command);
  /// Whether a setting was given.
  bool has(std::string_view name) const;
  /// The settings of a model with those that were given; nothing if none was given.
  std::optional<GenerationConfig> over(const GenerationConfig& of_model) const;

 private:
  GenerationConfig values_;
  OptionNode given_;
};

/// Adds --precision and --threads.
void add_runtime_options(CLI::App& command, RuntimeOptions& runtime);

}  // namespace sixfold::cli
