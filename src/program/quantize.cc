#include <memory>

#include "base/log.h"
#include "model_folder/derived.h"
#include "program/commands.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"

namespace sixfold::cli {
namespace {

struct QuantizeSettings {
  std::string model, output;
};

void run(const QuantizeSettings& settings) {
  load_model_folder(settings.model);
  note_interrupts();  // the output folder is completed even after an interrupt
  quantize_model(settings.model, settings.output);
  log_info("{}: {} in int8", settings.output, settings.model);
}

}  // namespace

void add_quantize(CLI::App& app) {
  const auto settings = std::make_shared<QuantizeSettings>();
  CLI::App& command =
      *app.add_subcommand("quantize", "Convert a model to int8, which is faster and a quarter of the size");
  add_model_argument(command, settings->model);
  command.add_option("-o,--output", settings->output, "folder for the new model")
      ->type_name("MODEL")
      ->required();
  command.footer(
      "An int8 model can translate and score, but it can't be trained further: keep the original.\n"
      "Example:\n  sixfold quantize run/model --output run/int8");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
