#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "program/kit/image_blocks.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/task_program.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/image_captioning/captioner.h"
#include "text/utf8.h"

namespace sixfold::cli {
namespace {

struct CaptionSettings {
  std::string model, input = "-", output = "-";
  bool json = false;
  CaptionOptions options;
  GenerationOverrides generation;
  RuntimeOptions runtime;
};

std::string json_of(const Caption& caption) {
  if (caption.error)
    return nlohmann::ordered_json{{"error", replace_invalid_utf8(*caption.error)}}.dump();  // a path
  return nlohmann::ordered_json{
      {"caption", caption.text}, {"score", caption.score}, {"log_probability", caption.log_probability}}
      .dump();
}

void run(const CaptionSettings& settings) {
  const std::string input = readable_path(settings.input);
  const Captioner captioner(settings.model, settings.runtime);
  ImageReader reader(input);
  TextOutput output(settings.output, {settings.input, settings.model});
  const StopOnInterrupt interrupt;
  CaptionOptions options = settings.options;
  options.generation = settings.generation.apply_to(captioner.generation());
  options.cancel = interrupt.token();
  size_t failed = 0, cut = 0;
  process_images<Caption>(
      reader, settings.output,
      [&](std::span<const Image> images) { return captioner.caption(images, options); },
      [&](const Caption& caption, const std::string& place) {
        output.write_line(settings.json ? json_of(caption) : caption.text);
        if (caption.error) log_warning("{}: {}", place, *caption.error);
        failed += caption.error.has_value();
        cut += !caption.error && caption.reason != FinishReason::end_token;
      },
      [&] { output.flush(); });
  if (cut > 0)
    log_warning("{} reached the maximum length before the model found an end", counted(cut, "caption"));
  output.close();
  require(failed == 0, "{} failed; the others are complete", counted(failed, "image"));
}

void add_caption(CLI::App& app) {
  const auto settings = std::make_shared<CaptionSettings>();
  CLI::App& command = *app.add_subcommand("caption", "Describe images in words");
  add_model_argument(command, settings->model);
  command
      .add_option(
          "-i,--input", settings->input,
          "IDX file, image file, or text with the name of an image file on each line; -: such a text from "
          "standard input")
      ->type_name("FILE")
      ->capture_default_str();
  add_text_output_option(command, settings->output);
  command.add_flag("--json", settings->json, "write a JSON object on each line, with scores");
  add_field_options(command, OptionVisitor::AnyOptions(settings->options));
  settings->generation.add_options(command);
  add_runtime_options(command, settings->runtime);
  command.footer(
      "The output has a line for each image, in their order. An image that is broken, missing or of another "
      "size\n"
      "than the model reads has an empty line, a warning names it, and the exit status is 2.\n"
      "Example:\n  sixfold caption run/model --input test.images --output test.captions");
  command.callback([settings] { run(*settings); });
}

}  // namespace

TaskProgram image_captioning_program() {
  return {.name = "image_captioning",
          .add_commands = [](Commands& commands) { commands.add(Commands::use, {add_caption}); }};
}

}  // namespace sixfold::cli
