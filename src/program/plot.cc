#include <memory>
#include <optional>

#include "base/error.h"
#include "model_folder/model_folder.h"
#include "program/commands.h"
#include "program/kit/model_folder.h"
#include "program/kit/value_option.h"
#include "program/picture.h"
#include "program/plot/attention.h"
#include "program/plots.h"
#include "tasks/image_captioning/config.h"
#include "tasks/translation/commands/translation_writer.h"
#include "tasks/translation/settings.h"
#include "tasks/translation/translator.h"
#include "text/utf8.h"

namespace sixfold {
namespace cli {
/// How attention is drawn: as a map for each head, or as lines between tokens.
enum class AttentionStyle { maps, lines };
}  // namespace cli

template <>
struct EnumNames<cli::AttentionStyle> {
  static constexpr std::pair<cli::AttentionStyle, std::string_view> names[] = {
      {cli::AttentionStyle::maps, "maps"}, {cli::AttentionStyle::lines, "lines"}};
};

namespace cli {
namespace {

struct PlotSettings {
  std::string model, text;
  PictureOptions picture;
  std::optional<std::string> target;
  int layer = -1;
  AttentionKind kind = AttentionKind::cross;
  AttentionStyle style = AttentionStyle::maps;
  std::vector<int> heads;            ///< drawn as lines; empty: all
  std::optional<std::string> token;  ///< as in `AttentionLines`
  TranslateOptions languages;
};

void require_text(const std::string& option, const std::string& text) {
  require(!first_invalid_utf8(text), "{}: the text is not valid UTF-8", option);
  require(has_visible_character(text), "{}: the text is empty", option);
}

/// The picture counts layers and heads from 1.
std::string title_of(AttentionKind kind, int layer, int layers) {
  const bool encoder = kind == AttentionKind::encoder;
  return fmt::format("Attention of {} layer {} of {} to the {}", encoder ? "encoder" : "decoder", layer + 1,
                     layers, kind == AttentionKind::decoder ? "target so far" : "source");
}

void run(const PlotSettings& settings) {
  require_text("--text", settings.text);
  if (settings.target) require_text("--target", *settings.target);
  if (settings.token) require_text("--token", *settings.token);
  const ModelConfig config = load_model_config(settings.model);
  require(config.task != ImageCaptioningOptions::task_name,
          "{}: captions images; its attention is drawn by 'sixfold plot patches'", settings.model);
  require_task(config, TranslationSettings::network, settings.model);
  const bool encoder = settings.kind == AttentionKind::encoder;
  const int layers = encoder ? config.encoder_layers : config.decoder_layers;
  require(settings.style == AttentionStyle::lines || (settings.heads.empty() && !settings.token),
          "--heads and --token need --style lines");
  require(settings.layer >= -layers && settings.layer < layers, "--layer {}: the model's {} has layers 0 to {}",
          settings.layer, encoder ? "encoder" : "decoder", layers - 1);
  SentenceAttention attention =
      Translator(settings.model)
          .attention(settings.text, settings.target, settings.layer, settings.kind, settings.languages);
  const bool cross = settings.kind == AttentionKind::cross, lines = settings.style == AttentionStyle::lines;
  const std::string axes = lines   ? cross ? "left: target, right: source" : "left looks at right"
                           : cross ? "rows: target, columns: source"
                                   : "rows look at columns";
  const AttentionMap map = {.source = std::move(attention.source),
                            .target = std::move(attention.target),
                            .heads = attention.heads,
                            .weights = std::move(attention.weights),
                            .title = title_of(settings.kind, attention.layer, layers),
                            .axes = axes,
                            .theme = settings.picture.theme};
  write_picture(settings.picture, lines
                                      ? attention_lines_svg(map, {settings.heads, settings.token.value_or("")})
                                      : attention_svg(map));
}

void add_attention(CLI::App& plot) {
  const auto settings = std::make_shared<PlotSettings>();
  CLI::App& command = *plot.add_subcommand("attention", "Draw the attention weights of every head of a layer");
  add_model_argument(command, settings->model);
  command.add_option("--text", settings->text, "the source sentence")->type_name("TEXT")->required();
  command.add_option("--target", settings->target, "a translation of the sentence [the model's own]")
      ->type_name("TEXT");
  add_value_option(command, "--kind", settings->kind,
                   "cross-attention, or self-attention of the encoder or decoder");
  command
      .add_option("--layer", settings->layer,
                  "layer, counted from 0, or from the last with -1, -2, ...; the picture counts layers and "
                  "heads from 1")
      ->type_name("N")
      ->capture_default_str();
  add_value_option(
      command, "--style", settings->style,
      "maps: a heat map for each head; lines: lines between tokens, as in figures 3 to 5 of the paper");
  add_value_option(command, "--heads", settings->heads,
                   "with --style lines: the heads that are drawn, counted from 0, as in 4,5 [all]");
  command
      .add_option("--token", settings->token,
                  "with --style lines: only the lines of this token, all heads together [of all tokens]")
      ->type_name("TEXT");
  add_field_options(command, OptionVisitor::AnyOptions(settings->languages),
                    {.only = {"source_language", "target_language"}, .flags = language_flags});
  for (const char* name : {"--source-language", "--target-language"})
    command.get_option(name)->type_name("CODE");
  add_picture_options(command, settings->picture);
  command.footer(
      "Example:\n  sixfold plot attention run/model --text \"two young women\" --output attention.svg");
  command.callback([settings] { run(*settings); });
}

}  // namespace

void add_plot(CLI::App& app, Tasks tasks) {
  CLI::App& command = *app.add_subcommand(
      "plot", "Draw attention, training curves and more, as SVG or PNG, or for TensorBoard");
  command.require_subcommand(1);
  add_attention(command);
  add_plot_curves(command);
  add_plot_schedule(command, tasks);
  add_plot_positions(command, tasks);
  add_plot_corpus(command);
  add_plot_accuracy(command);
  add_plot_confidence(command);
  add_plot_confusion(command);
  add_plot_patches(command);
  add_plot_tensorboard(command);
  command.footer(
      "Example:\n  sixfold plot attention run/model --text \"two young women\" --output attention.svg\n"
      "  sixfold plot curves run --output curves.svg");
}

}  // namespace cli
}  // namespace sixfold
