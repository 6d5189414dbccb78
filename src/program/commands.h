#pragma once
#include <CLI/CLI.hpp>

#include "serve/models.h"
#include "tasks/kit/task_entry.h"

namespace sixfold::cli {

// Each function adds one command that does not belong to a task. Tasks add theirs by `TaskProgram`.
void add_train(CLI::App& app, Tasks tasks);
void add_sweep(CLI::App& app, Tasks tasks);
void add_score(CLI::App& app);
void add_serve(CLI::App& app, serve::ServedTasks tasks);
void add_dashboard(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_average(CLI::App& app);
void add_quantize(CLI::App& app);
void add_info(CLI::App& app, Tasks tasks);
void add_tokenize(CLI::App& app);
void add_check(CLI::App& app, Tasks tasks);
void add_corpus(CLI::App& app);
void add_demo_corpus(CLI::App& app);
void add_demo_images(CLI::App& app);
void add_demo_questions(CLI::App& app);
void add_plot(CLI::App& app, Tasks tasks);
void add_bench(CLI::App& app);
void add_completion(CLI::App& app, Tasks tasks);
void add_man(CLI::App& app, Tasks tasks);
void add_import(CLI::App& app);
void add_export(CLI::App& app);

}  // namespace sixfold::cli
