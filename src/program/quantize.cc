#include <memory>

#include "base/log.h"
#include "model_folder/derived.h"
#include "program/commands.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/value_option.h"

namespace sixfold {

/// The types that a model can be converted to.
enum class QuantizedType { int8, int4 };

template <>
struct EnumNames<QuantizedType> {
  static constexpr std::pair<QuantizedType, std::string_view> names[] = {{QuantizedType::int8, "int8"},
                                                                         {QuantizedType::int4, "int4"}};
};

namespace cli {
namespace {

struct QuantizeSettings {
  std::string model, output;
  QuantizedType precision = QuantizedType::int8;
};

void run(const QuantizeSettings& settings) {
  load_model_folder(settings.model);
  note_interrupts();  // an interrupt changes the exit status, and the output folder is completed
  quantize_model(settings.model, settings.output,
                 settings.precision == QuantizedType::int8 ? WeightType::int8 : WeightType::int4);
  log_info("{}: {} in {}", settings.output, settings.model, name_of_enum(settings.precision));
  check_interrupt();
}

}  // namespace

void add_quantize(CLI::App& app) {
  const auto settings = std::make_shared<QuantizeSettings>();
  CLI::App& command =
      *app.add_subcommand("quantize", "Convert a model to int8 or int4, which is faster and smaller");
  add_model_argument(command, settings->model);
  command.add_option("-o,--output", settings->output, "folder for the new model")
      ->type_name("MODEL")
      ->required();
  add_value_option(
      command, "--precision", settings->precision,
      "type of the weights: int8, a quarter of fp32, or int4, a sixth to a fifth of it, which is less exact");
  command.footer(
      "An int8 or int4 model can translate and score, but it can't be trained further: keep the original.\n"
      "Example:\n  sixfold quantize run/model --output run/int8");
  command.callback([settings] { run(*settings); });
}

}  // namespace cli
}  // namespace sixfold
