#pragma once
#include <CLI/CLI.hpp>

#include "tasks/kit/task_entry.h"

namespace sixfold::cli {

// Each function adds one kind of picture to the command plot.
void add_plot_curves(CLI::App& plot);
void add_plot_schedule(CLI::App& plot, Tasks tasks);
void add_plot_positions(CLI::App& plot, Tasks tasks);
void add_plot_corpus(CLI::App& plot);
void add_plot_accuracy(CLI::App& plot);
void add_plot_confidence(CLI::App& plot);
void add_plot_confusion(CLI::App& plot);
void add_plot_patches(CLI::App& plot);
void add_plot_tensorboard(CLI::App& plot);

}  // namespace sixfold::cli
