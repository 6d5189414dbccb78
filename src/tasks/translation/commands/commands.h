#pragma once
#include "program/kit/task_program.h"

namespace sixfold::cli {

/// The commands that the translation task adds to the program.
TaskProgram translation_program();

void add_translate(CLI::App& app);
void add_rerank(CLI::App& app);
void add_shortlist(CLI::App& app);
void add_align(CLI::App& app);
void add_confidence(CLI::App& app);

}  // namespace sixfold::cli
