#include <memory>

#include "base/log.h"
#include "model_folder/derived.h"
#include "program/commands.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"

namespace sixfold::cli {
namespace {

struct AverageSettings {
  std::vector<std::string> models;
  std::string output;
};

void run(const AverageSettings& settings) {
  note_interrupts();  // an interrupt changes the exit status, and the output folder is completed
  average_models(settings.models, settings.output);
  const size_t count = settings.models.size();
  log_info("{}: average of {} model{}", settings.output, count, count == 1 ? "" : "s");
  check_interrupt();
}

}  // namespace

void add_average(CLI::App& app) {
  const auto settings = std::make_shared<AverageSettings>();
  CLI::App& command = *app.add_subcommand("average", "Average the weights of several models");
  command.add_option("models", settings->models, "model folders, usually checkpoints of one training run")
      ->type_name("MODEL")
      ->required();
  command.add_option("-o,--output,--out", settings->output, "folder for the new model")
      ->type_name("MODEL")
      ->required();
  command.footer(
      "The tokenizer and the generation settings are those of the first model.\n"
      "Example:\n  sixfold average run/checkpoints/* --output averaged");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
