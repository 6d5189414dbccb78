#pragma once
#include "program/kit/task_program.h"
#include "runtime/runtime_options.h"
#include "tasks/translation/translation.h"

namespace sixfold::cli {

/// What the task adds to the program.
TaskProgram translation_program();

/// Adds --batch-tokens, --max-source-length, --target-language, --precision and --threads.
void add_translator_options(CLI::App& command, TranslateOptions& options, RuntimeOptions& runtime);

void add_translate(CLI::App& app);
void add_shortlist(CLI::App& app);

}  // namespace sixfold::cli
