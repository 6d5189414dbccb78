#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/model_folder.h"
#include "cli/text_io.h"
#include "model/model_dir.h"
#include "plot/attention.h"
#include "text/utf8.h"
#include "translate/translator.h"

namespace sixfold::cli {
namespace {

struct Settings {
  std::string model, text, output;
  std::optional<std::string> target;
  int layer = -1;
};

void require_text(const std::string& option, const std::string& text) {
  require(!first_invalid_utf8(text), "{}: the text is not valid UTF-8", option);
  require(has_visible_character(text), "{}: the text is empty", option);
}

void run(const Settings& settings) {
  require_text("--text", settings.text);
  if (settings.target) require_text("--target", *settings.target);
  const int layers = load_model_config(settings.model).decoder_layers;
  require(settings.layer >= -layers && settings.layer < layers,
          "--layer {}: the model's decoder has layers 0 to {}", settings.layer, layers - 1);
  TextOutput output(settings.output);
  SentenceAttention attention =
      Translator(settings.model).attention(settings.text, settings.target, settings.layer);
  const int layer = settings.layer < 0 ? settings.layer + layers : settings.layer;
  output.write(attention_svg({.source = std::move(attention.source),
                              .target = std::move(attention.target),
                              .heads = attention.heads,
                              .weights = std::move(attention.weights),
                              .title = fmt::format("Attention of decoder layer {} to the source", layer)}));
  output.close();
}

void add_attention(CLI::App& plot) {
  const auto settings = std::make_shared<Settings>();
  CLI::App& command =
      *plot.add_subcommand("attention", "What each target symbol attends to in the source, for every head");
  add_model_argument(command, settings->model);
  command.add_option("--text", settings->text, "the source sentence")->type_name("TEXT")->required();
  command.add_option("--target", settings->target, "what the model says for it; else its translation")
      ->type_name("TEXT");
  command.add_option("--layer", settings->layer, "decoder layer from 0 on, or from -1 for the last downwards")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("-o,--output", settings->output, "picture to write; - is standard output")
      ->type_name("FILE.svg")
      ->required();
  command.footer(
      "Example:\n  sixfold plot attention run/model --text \"two young women\" --output attention.svg");
  command.callback([settings] { run(*settings); });
}

}  // namespace

void add_plot(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("plot", "Draw what a model does, as SVG");
  command.require_subcommand(1);
  add_attention(command);
  command.footer(
      "Example:\n  sixfold plot attention run/model --text \"two young women\" --output attention.svg");
}

}  // namespace sixfold::cli
