#pragma once
#include <CLI/CLI.hpp>

namespace sixfold::cli {

// Each function adds one command, with its options, help and an example, to the program. The command runs in
// its callback and throws `Error` on failure; main.cc turns that into the exit status.
void add_train(CLI::App& app);
void add_sweep(CLI::App& app);
void add_translate(CLI::App& app);
void add_classify(CLI::App& app);
void add_generate(CLI::App& app);
void add_score(CLI::App& app);
void add_serve(CLI::App& app);
void add_dashboard(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_average(CLI::App& app);
void add_quantize(CLI::App& app);
void add_shortlist(CLI::App& app);
void add_info(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_corpus(CLI::App& app);
void add_demo_corpus(CLI::App& app);
void add_demo_images(CLI::App& app);
void add_demo_questions(CLI::App& app);
void add_caption(CLI::App& app);
void add_answer(CLI::App& app);
void add_fill(CLI::App& app);
void add_plot(CLI::App& app);
void add_bench(CLI::App& app);
void add_completion(CLI::App& app);
void add_man(CLI::App& app);
void add_import(CLI::App& app);
void add_export(CLI::App& app);

}  // namespace sixfold::cli
