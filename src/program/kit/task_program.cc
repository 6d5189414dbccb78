#include "program/kit/task_program.h"

namespace sixfold::cli {

void Commands::add_to(CLI::App& app) const {
  static constexpr std::array titles{"Make a model", "Use a model", "Exchange models", "Evaluate a model",
                                     "Help"};
  for (size_t group = 0; group < groups_.size(); ++group)
    for (const AddCommand& add : groups_[group]) {
      add(app);
      app.get_subcommands([](const CLI::App*) { return true; }).back()->group(titles[group]);
    }
}

}  // namespace sixfold::cli
