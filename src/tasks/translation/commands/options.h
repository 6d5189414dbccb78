#pragma once
#include <CLI/CLI.hpp>

#include "runtime/runtime_options.h"
#include "tasks/translation/translation.h"

namespace sixfold::cli {

/// Adds --batch-tokens, --max-source-length, --target-language, --precision and --threads.
void add_translator_options(CLI::App& command, TranslateOptions& options, RuntimeOptions& runtime);

}  // namespace sixfold::cli
