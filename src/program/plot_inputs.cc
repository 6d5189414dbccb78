#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "data/measure.h"
#include "model/layers/positions.h"
#include "model/position_encodings.h"
#include "model_folder/model_folder.h"
#include "program/kit/model_folder.h"
#include "program/kit/value_option.h"
#include "program/picture.h"
#include "program/plot/chart.h"
#include "program/plot/grid.h"
#include "program/plots.h"
#include "tasks/kit/model_options.h"
#include "tasks/tasks.h"

namespace sixfold::cli {
namespace {

namespace fs = std::filesystem;

struct PositionSettings {
  Tasks tasks;
  std::string model;
  std::optional<int64_t> positions;
  bool similarity = false;
  PictureOptions picture;
};

/// The architecture in a training config.
Architecture architecture_of(const std::string& config, Tasks tasks) {
  OptionNode options = read_task_config(config, {}, tasks)->options();
  ModelOptions model;
  read_options(*options.find("model"), model);
  return model;
}

/// The position encodings, [positions, d_model], of a model folder or of a training config, whose architecture
/// is stored in `architecture`. The default number of positions is 64, or less if fewer were learned.
std::vector<float> position_encodings(const PositionSettings& settings, Architecture& architecture) {
  const bool folder = fs::is_directory(settings.model);
  if (folder)
    architecture = load_model_config(settings.model);
  else
    architecture = architecture_of(settings.model, settings.tasks);
  const int64_t d_model = architecture.d_model;
  const int64_t positions = settings.positions.value_or(64);
  require(architecture.positions != Positions::none, "{}: the model has no position encodings", settings.model);
  require(adds_position_vectors(architecture.positions),
          "{}: positions '{}' are not vectors that are added to embeddings, so that there is no table to draw",
          settings.model, name_of_enum(architecture.positions));
  if (is_sinusoidal(architecture.positions)) return sinusoidal_encodings(architecture, positions);
  require(folder, "{}: a config does not contain learned positions; give a model folder", settings.model);
  auto table =
      position_encodings(*load_model(settings.model, make_backend({.device = "reference"})), positions);
  require(!settings.positions || std::ssize(table) >= positions * d_model, "--positions {}: the model has {}",
          positions, std::ssize(table) / d_model);
  return table;
}

/// The mean cosine similarity of encodings, by their distance.
Series similarity(const std::vector<float>& table, int64_t positions, int64_t d_model) {
  const auto encoding = [&](int64_t position) {
    return std::span(table).subspan(static_cast<size_t>(position * d_model), static_cast<size_t>(d_model));
  };
  Series series{.name = "mean cosine"};
  for (int64_t distance = 0; distance < positions; ++distance) {
    double sum = 0;
    for (int64_t p = 0; p + distance < positions; ++p)
      sum += cosine_similarity(encoding(p), encoding(p + distance));
    series.x.push_back(static_cast<double>(distance));
    series.y.push_back(sum / static_cast<double>(positions - distance));
  }
  return series;
}

void draw_positions(const PositionSettings& settings) {
  Architecture architecture;
  std::vector<float> table = position_encodings(settings, architecture);
  const int64_t d_model = architecture.d_model, positions = std::ssize(table) / d_model;
  const std::string kind(name_of_enum(architecture.positions));
  if (settings.similarity) {
    const Chart chart{.title = fmt::format("{}, d_model {}, {} positions", kind, d_model, positions),
                      .x_label = "distance [positions]",
                      .y_label = "mean cosine of two encodings",
                      .series = {similarity(table, positions, d_model)}};
    write_picture(settings.picture,
                  charts_svg("Similarity of position encodings by distance", {chart}, settings.picture.theme),
                  {settings.model});
    return;
  }
  // Limit the number of columns so that they can be distinguished; scale learned encodings to [-1, 1].
  const int64_t step = (d_model + 127) / 128;
  float largest = 0;
  for (const float value : table) largest = std::max(largest, std::abs(value));
  const float scale = architecture.positions == Positions::learned && largest > 0 ? 1 / largest : 1;
  GridMap map{.title = fmt::format("Position encodings: {}, d_model {}", kind, d_model),
              .row_label = "position",
              .column_label = step == 1 ? "feature" : fmt::format("feature (every {}th)", step),
              .rows = positions,
              .theme = settings.picture.theme};
  for (int64_t f = 0; f < d_model; f += step) map.column_names.push_back(f);
  map.columns = std::ssize(map.column_names);
  for (int64_t p = 0; p < positions; ++p)
    for (const int64_t f : map.column_names)
      map.values.push_back(scale * table[static_cast<size_t>(p * d_model + f)]);
  write_picture(settings.picture, grid_svg(map), {settings.model});
}

struct CorpusPlotSettings {
  std::vector<std::string> files;
  std::string model;
  PictureOptions picture;
};

Series length_series(const std::vector<int64_t>& counts, int64_t longest, const std::string& name, int color) {
  Series series{.name = name, .color = color, .steps = true};
  for (int64_t length = 0; length <= longest; ++length) {
    series.x.push_back(static_cast<double>(length) - 0.5);
    series.y.push_back(static_cast<double>(counts[static_cast<size_t>(length)]));
  }
  series.x.push_back(static_cast<double>(longest) + 0.5);
  return series;
}

Series ratio_series(const CorpusReport& report) {
  Series series{.name = "pairs", .color = 2, .steps = true};
  int first = CorpusReport::ratio_bins, last = 0;
  for (int bin = 0; bin < CorpusReport::ratio_bins; ++bin)
    if (report.ratios[static_cast<size_t>(bin)] > 0) first = std::min(first, bin), last = bin;
  const double half = std::exp2(1.0 / 16);
  for (int bin = first; bin <= last; ++bin) {
    series.x.push_back(CorpusReport::ratio_of_bin(bin) / half);
    series.y.push_back(static_cast<double>(report.ratios[static_cast<size_t>(bin)]));
  }
  if (!series.x.empty()) series.x.push_back(CorpusReport::ratio_of_bin(last) * half);
  if (series.x.empty()) series.x.push_back(1);
  return series;
}

void draw_corpus(const CorpusPlotSettings& settings) {
  std::optional<Tokenizers> tokenizers;
  if (!settings.model.empty()) tokenizers = load_text_model(settings.model).tokenizers;
  const bool report_given = settings.files.size() == 1 && settings.files[0].ends_with(".json");
  const CorpusReport report = report_given
                                  ? parse_corpus_report(read_file(settings.files[0]), settings.files[0])
                                  : measure_corpus(corpus_files(settings.files, "files"), tokenizers, {});
  require(report.source_tokens > 0, "{}: no pair of lines has text on both sides", settings.files[0]);
  const int64_t longest =
      std::max<int64_t>({1, quantile(report.source_lengths, 0.999), quantile(report.target_lengths, 0.999)});
  const std::string unit = tokenizers ? "tokens" : report_given ? "words or tokens" : "words";
  const std::vector<Chart> charts{
      {.title = "Lengths" + std::string(quantile(report.source_lengths, 1) > longest ? " (99.9 %)" : ""),
       .x_label = fmt::format("length [{}]", unit),
       .y_label = "pairs",
       .series = {length_series(report.source_lengths, longest, "source", 0),
                  length_series(report.target_lengths, longest, "target", 1)},
       .from_zero = true},
      {.title = "Target length by source length",
       .x_label = "ratio (logarithmic)",
       .y_label = "pairs",
       .series = {ratio_series(report)},
       .log_x = true,
       .from_zero = true}};
  write_picture(settings.picture, charts_svg(report.describe(), charts, settings.picture.theme),
                settings.files);
}

}  // namespace

void add_plot_positions(CLI::App& plot, Tasks tasks) {
  const auto settings = std::make_shared<PositionSettings>(PositionSettings{.tasks = tasks});
  CLI::App& command =
      *plot.add_subcommand("positions", "Draw the position encodings of a model (section 3.5 of the paper)");
  command.add_option("model", settings->model, "model folder, or a training config")
      ->type_name("MODEL|CONFIG.yaml")
      ->required();
  add_value_option(command, "--positions", settings->positions,
                   "number of positions (default: 64, or as many as were learned)", between(2, 512));
  command.add_flag("--similarity", settings->similarity,
                   "draw the mean similarity of two encodings by their distance");
  add_picture_options(command, settings->picture);
  command.footer("Example:\n  sixfold plot positions recipes/demo.yaml --output positions.svg");
  command.callback([settings] { draw_positions(*settings); });
}

void add_plot_corpus(CLI::App& plot) {
  const auto settings = std::make_shared<CorpusPlotSettings>();
  CLI::App& command =
      *plot.add_subcommand("corpus", "Draw the lengths of the lines of a parallel corpus, and their ratios");
  command
      .add_option(
          "files", settings->files,
          "alternately a source and a target file, or .tsv files, or a report of 'sixfold corpus --json'")
      ->type_name("FILE")
      ->required();
  command.add_option("--model", settings->model, "measure lengths in tokens of this model instead of words")
      ->type_name("MODEL");
  add_picture_options(command, settings->picture);
  command.footer("Example:\n  sixfold plot corpus train.en train.de --output corpus.svg");
  command.callback([settings] { draw_corpus(*settings); });
}

}  // namespace sixfold::cli
