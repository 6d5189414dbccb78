#include <memory>
#include <optional>

#include "base/error.h"
#include "data/image_reader.h"
#include "formats/image_file.h"
#include "model_folder/ownership.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "program/picture.h"
#include "program/plot/patches.h"
#include "program/plots.h"
#include "tasks/image_captioning/captioner.h"

namespace sixfold::cli {
namespace {

struct PlotPatchesSettings {
  std::string model, input;
  int64_t number = 1;
  int layer = -1;
  std::optional<int> head;
  PictureOptions picture;
};

/// Reads image n, counted from 1, of an input.
ImageReader::Item read_nth(const std::string& input, int64_t n) {
  ImageReader reader(readable_path(input));
  for (int64_t i = 1;; ++i) {
    auto item = reader.next();
    require(item.has_value(), "--number {}: {} has {} images", n, text_name(input), i - 1);
    if (i < n) continue;
    if (item->error) throw_input_error("{}: {}", item->place, *item->error);
    return std::move(*item);
  }
}

/// The attention of the caption of an image. Errors begin with the place of the image.
ImageAttention attention_of(const Captioner& captioner, const ImageReader::Item& item, int layer) {
  try {
    return captioner.attention(item.image, layer);
  } catch (const Error& error) {
    throw Error(error.fault(), fmt::format("{}: {}", item.place, error.what()));
  }
}

/// The attention weights of a head, or the mean of all heads: [tokens, patches].
std::vector<float> weights_of(const ImageAttention& attention, std::optional<int> head) {
  const size_t size = attention.weights.size() / static_cast<size_t>(attention.heads);
  std::vector<float> weights(size);
  for (size_t i = 0; i < size; ++i) {
    double sum = 0;
    for (int h = 0; h < attention.heads; ++h)
      if (!head || h == *head) sum += attention.weights[static_cast<size_t>(h) * size + i];
    weights[i] = static_cast<float>(head ? sum : sum / attention.heads);
  }
  return weights;
}

void draw(const PlotPatchesSettings& settings) {
  require_output_file(settings.picture.output, files_of_list(readable_path(settings.input)));
  const ImageReader::Item item = read_nth(settings.input, settings.number);
  const Captioner captioner(settings.model);
  const int layers = captioner.decoder_layers();
  require(settings.layer >= -layers && settings.layer < layers,
          "--layer {}: the model's decoder has layers 0 to {}", settings.layer, layers - 1);
  const ImageAttention attention = attention_of(captioner, item, settings.layer);
  require(settings.head.value_or(0) < attention.heads, "--head {}: the model has heads 0 to {}",
          settings.head.value_or(0), attention.heads - 1);
  const std::string heads =
      settings.head ? fmt::format("head {}", *settings.head + 1) : std::string("mean of heads");
  write_picture(settings.picture,
                patches_svg({.png = encode_png(item.image),
                             .height = item.image.size.height,
                             .width = item.image.size.width,
                             .patch = attention.patch,
                             .stride = attention.stride,
                             .tokens = attention.tokens,
                             .weights = weights_of(attention, settings.head),
                             .title = fmt::format("{} (attention of decoder layer {} of {}, {})",
                                                  attention.caption, attention.layer + 1, layers, heads),
                             .theme = settings.picture.theme}),
                {settings.input});
}

}  // namespace

void add_plot_patches(CLI::App& plot) {
  const auto settings = std::make_shared<PlotPatchesSettings>();
  CLI::App& command = *plot.add_subcommand(
      "patches", "Draw on a picture where a model looks while it generates each token of the caption");
  add_model_argument(command, settings->model);
  command
      .add_option("-i,--input", settings->input, "image file, or IDX file or list of image files with --number")
      ->type_name("FILE")
      ->required();
  add_value_option(command, "--number", settings->number, "which image of the input, counted from 1",
                   at_least(1));
  command
      .add_option("--layer", settings->layer,
                  "layer of the decoder, counted from 0, or from the last with -1, -2, ...; the picture counts "
                  "layers and heads from 1")
      ->type_name("N")
      ->capture_default_str();
  add_value_option(command, "--head", settings->head,
                   "draw only this head, counted from 0 [the mean of all heads]", between(0, 1 << 16));
  add_picture_options(command, settings->picture);
  command.footer(
      "For each token of the caption, the picture is clear where the token looks, and veiled elsewhere. The\n"
      "number beside a token is its largest weight.\n"
      "Example:\n  sixfold plot patches run/model --input photo.png --output patches.svg");
  command.callback([settings] { draw(*settings); });
}

}  // namespace sixfold::cli
