#include <memory>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/model_folder.h"
#include "model/derived.h"

namespace sixfold::cli {
namespace {

struct Settings {
  std::string model, output;
};

void run(const Settings& settings) {
  open_model_folder(settings.model);
  note_interrupts();  // what is begun is finished, so that nothing half done is left
  quantize_model(settings.model, settings.output);
  check_interrupt();
  log_info("{}: {} in int8", settings.output, settings.model);
}

}  // namespace

void add_quantize(CLI::App& app) {
  const auto settings = std::make_shared<Settings>();
  CLI::App& command = *app.add_subcommand("quantize", "Make a model in int8: faster, a quarter of the size");
  add_model_argument(command, settings->model);
  command.add_option("-o,--output", settings->output, "folder for the new model")
      ->type_name("MODEL")
      ->required();
  command.footer(
      "It translates and scores as the model did, but can't be trained further; keep the one it is made from.\n"
      "Example:\n  sixfold quantize run/model --output run/int8");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
