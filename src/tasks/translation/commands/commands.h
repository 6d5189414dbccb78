#pragma once
#include <CLI/CLI.hpp>

namespace sixfold::cli {

// The commands of the translation task.
void add_translate(CLI::App& app);
void add_rerank(CLI::App& app);
void add_shortlist(CLI::App& app);
void add_align(CLI::App& app);
void add_confidence(CLI::App& app);

}  // namespace sixfold::cli
