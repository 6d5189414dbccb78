#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/task_program.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/masked_language_model/mask_filler.h"

namespace sixfold::cli {
namespace {

/// The number of lines in a block. It is small, since each token of a line may be a mask.
size_t fill_lines_per_block(int candidates) {
  return std::max<size_t>(1, 512 / static_cast<size_t>(candidates));
}

struct FillSettings {
  std::string model;
  TextPaths text;
  bool json = false;
  FillOptions options;
  RuntimeOptions runtime;
};

std::string json_of(const FilledText& result) {
  if (result.error) return nlohmann::ordered_json{{"error", *result.error}}.dump();
  auto masks = nlohmann::ordered_json::array();
  for (const std::vector<MaskCandidate>& mask : result.masks) {
    auto candidates = nlohmann::ordered_json::array();
    for (const MaskCandidate& one : mask)
      candidates.push_back({{"text", one.text}, {"probability", one.probability}});
    masks.push_back(std::move(candidates));
  }
  return nlohmann::ordered_json{{"text", result.text}, {"masks", masks}}.dump();
}

void run(const FillSettings& settings) {
  const std::string input = readable_path(settings.text.input);
  const MaskFiller filler(settings.model, settings.runtime);
  LineBlocks blocks(input, settings.text.invalid);
  TextOutput output(settings.text.output, {settings.text.input, settings.model});
  const StopOnInterrupt interrupt;
  FillOptions options = settings.options;
  options.cancel = interrupt.token();
  if (!settings.json) options.candidates = 1;
  size_t line = 0, failed = 0, cut = 0;
  for (std::vector<std::string> lines;
       !(lines = blocks.next(fill_lines_per_block(options.candidates))).empty();) {
    for (const FilledText& result : filler.fill(lines, options)) {
      output.write_line(settings.json ? json_of(result) : result.text);
      ++line;
      if (result.error) log_warning("line {}: {}", line, *result.error);
      failed += result.error.has_value();
      cut += !result.error && result.tokens_cut > 0;
    }
    output.flush();
  }
  if (cut > 0)
    log_warning("{} longer than the model reads; what follows was ignored",
                cut == 1 ? "1 text is" : fmt::format("{} texts are", cut));
  output.close();
  require(failed == 0, "{} failed; the others are complete", counted(failed, "line"));
}

void add_fill(CLI::App& app) {
  const auto settings = std::make_shared<FillSettings>();
  CLI::App& command = *app.add_subcommand("fill", "Fill the masks of texts with a masked language model");
  add_model_argument(command, settings->model);
  add_text_options(command, settings->text);
  CLI::Option* json = command.add_flag(
      "--json", settings->json, "write a JSON object on each line, with the likeliest tokens of each mask");
  add_field_options(command, OptionVisitor::AnyOptions(settings->options));
  command.get_option("--candidates")->needs(json);
  add_runtime_options(command, settings->runtime);
  command.footer(
      "Each <mask> in a line of the input stands for one token. The output has the line with the likeliest "
      "token in\n"
      "the place of each. For a line without a mask the output line is empty, and the exit status is 2.\n"
      "Example:\n  echo 'a <mask> film .' | sixfold fill run/model");
  command.callback([settings] { run(*settings); });
}

}  // namespace

TaskProgram masked_language_model_program() {
  return {.name = "masked_language_model",
          .add_commands = [](Commands& commands) { commands.add(Commands::use, {add_fill}); }};
}

}  // namespace sixfold::cli
