#include <algorithm>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/plural.h"
#include "metrics/calibration.h"
#include "program/kit/text_io.h"
#include "program/picture.h"
#include "program/plot/chart.h"
#include "program/plots.h"
#include "program/rated_lines.h"

namespace sixfold::cli {
namespace {

struct PlotConfidenceSettings {
  std::string translated;
  std::vector<std::string> references;
  PictureOptions picture;
};

/// The mean chrF of lines against their confidence.
Chart reliability_chart(const LineRatings& ratings) {
  const std::vector<ReliabilityBin> bins = reliability(ratings.confidence, ratings.chrf);
  Series series{.name = "lines", .note = fmt::format("calibration error {:.3f}", calibration_error(bins))};
  for (const ReliabilityBin& bin : bins) series.x.push_back(bin.predicted), series.y.push_back(bin.observed);
  return {.title = "Reliability",
          .x_label = "confidence, mean of a tenth of its range",
          .y_label = "chrF / 100, mean of the same lines",
          .series = {std::move(series), {.name = "equal", .x = {0, 1}, .y = {0, 1}, .color = 5, .dash = 1}},
          .from_zero = true};
}

/// The mean chrF of the lines that a measure rates best, against the share of these lines in all lines.
Series chrf_of_best(const std::string& name, std::span<const double> measure, std::span<const double> chrf) {
  const auto r = correlation(measure, chrf);
  Series series{.name = name, .note = r ? fmt::format("correlation {:.3f}", *r) : "correlation not defined"};
  std::vector<size_t> order(chrf.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](size_t line) { return measure[line]; });
  constexpr size_t points = 20;
  double sum = 0;
  for (size_t count = 0, point = 1; point <= points; ++point) {
    const size_t share = chrf.size() * point / points;
    while (count < share) sum += chrf[order[count++]];
    if (share == 0) continue;
    series.x.push_back(100.0 * static_cast<double>(point) / points);
    series.y.push_back(sum / static_cast<double>(share));
  }
  return series;
}

void draw(const PlotConfidenceSettings& settings) {
  const RatedLines lines = read_rated_lines(settings.translated);
  References references;
  for (const std::string& path : settings.references) {
    references.push_back(read_lines(readable_path(path)));
    require_equal_lines(settings.translated, lines.texts.size(), path, references.back().size());
  }
  const LineRatings ratings = ratings_of(lines, references);
  Chart best{.title = "The lines that are rated best",
             .x_label = "share of the lines [%]",
             .y_label = "chrF / 100, mean",
             .series = {chrf_of_best("by confidence", ratings.confidence, ratings.chrf),
                        chrf_of_best("by mean log-probability", ratings.mean_log_probability, ratings.chrf),
                        chrf_of_best("by chrF", ratings.chrf, ratings.chrf)}};
  for (size_t i = 0; i < best.series.size(); ++i) best.series[i].set_style(i);
  std::vector<std::string> inputs = settings.references;
  inputs.push_back(settings.translated);
  write_picture(settings.picture,
                charts_svg("Confidence of " + counted(ratings.chrf.size(), "line"),
                           {reliability_chart(ratings), std::move(best)}, settings.picture.theme),
                inputs);
}

}  // namespace

void add_plot_confidence(CLI::App& plot) {
  const auto settings = std::make_shared<PlotConfidenceSettings>();
  CLI::App& command =
      *plot.add_subcommand("confidence", "Draw how well the confidence of translations tells their chrF");
  command
      .add_option("translated", settings->translated,
                  "output of 'sixfold translate --confidence --format jsonl'; - is standard input")
      ->type_name("FILE")
      ->required();
  command.add_option("-r,--reference", settings->references, "files of reference translations")
      ->type_name("FILE")
      ->required();
  add_picture_options(command, settings->picture);
  command.footer(
      "Example:\n  sixfold translate run/model --confidence --format jsonl --input test.en --output "
      "test.jsonl\n"
      "  sixfold plot confidence test.jsonl --reference test.de --output confidence.svg");
  command.callback([settings] { draw(*settings); });
}

}  // namespace sixfold::cli
