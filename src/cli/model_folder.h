#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "model/config.h"
#include "model/weight_type.h"
#include "text/tokenizers.h"
#include "translate/translation.h"

namespace sixfold::cli {

/// A model folder but for its weights.
struct ModelFolder {
  ModelConfig config;
  Tokenizers tokenizers;
};

/// Throws an input error for a folder that is no model, or whose tokenizers are not those it is bound to.
ModelFolder open_model_folder(const std::string& folder);

/// Adds the argument MODEL.
void add_model_argument(CLI::App& command, std::string& folder);

/// Adds --batch-tokens, --max-source-length, --target-language, --precision and --threads.
void add_translator_options(CLI::App& command, TranslateOptions& options, WeightType& precision, int& threads);

}  // namespace sixfold::cli
