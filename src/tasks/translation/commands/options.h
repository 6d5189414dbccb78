#pragma once
#include <CLI/CLI.hpp>

#include "model/weight_type.h"
#include "tasks/translation/translation.h"

namespace sixfold::cli {

/// Adds --batch-tokens, --max-source-length, --target-language, --precision and --threads.
void add_translator_options(CLI::App& command, TranslateOptions& options, WeightType& precision, int& threads);

}  // namespace sixfold::cli
