#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/plural.h"
#include "metrics/metrics.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "program/picture.h"
#include "program/plot/chart.h"
#include "program/plots.h"

namespace sixfold::cli {
namespace {

namespace fs = std::filesystem;

struct PlotAccuracySettings {
  std::string source, reference;
  std::vector<std::string> hypotheses;
  int width = 5;
  int trained_to = 0;
  PictureOptions picture;
};

/// The lines whose sources are about equally long, for one system.
struct Bin {
  int64_t lines = 0, words = 0;
  std::vector<MetricSums> sums;  // for each chart

  double length() const { return static_cast<double>(words) / static_cast<double>(lines); }
};
using Bins = std::map<int64_t, Bin>;
using DrawnMetrics = std::vector<std::unique_ptr<Metric>>;

Bin empty_bin(const DrawnMetrics& metrics) {
  Bin bin;
  for (const auto& metric : metrics) bin.sums.emplace_back(*metric);
  return bin;
}

int64_t count_words(const std::string& line) {
  std::istringstream words(line);
  return std::distance(std::istream_iterator<std::string>(words), {});
}

/// Reads a text that must have as many lines as the reference.
std::vector<std::string> read_parallel(const std::string& path, const std::string& reference, size_t lines) {
  std::vector<std::string> text = read_lines(readable_path(path));
  require_equal_lines(path, text.size(), reference, lines);
  return text;
}

Bins measure(const std::vector<std::string>& source, const std::vector<std::string>& reference,
             const std::vector<std::string>& hypothesis, int width, const DrawnMetrics& metrics) {
  Bins bins;
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t words = count_words(source[i]);
    Bin& bin = bins.try_emplace(words / width, empty_bin(metrics)).first->second;
    ++bin.lines;
    bin.words += words;
    for (MetricSums& sums : bin.sums) sums.add(hypothesis[i], {&reference[i], 1});
  }
  return bins;
}

/// The names of the files, without folder and extension if these are distinct, otherwise the paths.
std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(fs::path(path).stem().string());
  const bool distinct = std::set<std::string>(names.begin(), names.end()).size() == names.size();
  return distinct ? names : paths;
}

/// A vertical line at the length of the longest lines in training.
Series length_marker(int length) {
  const auto x = static_cast<double>(length);
  return {.name = "longest in training", .x = {x, x}, .y = {0, 100}, .color = 5, .dash = 1};
}

void draw(const PlotAccuracySettings& settings) {
  const std::vector<std::string> reference = read_lines(readable_path(settings.reference));
  require(!reference.empty(), "{}: is empty; expected one sentence on each line",
          text_name(settings.reference));
  const auto source = read_parallel(settings.source, settings.reference, reference.size());
  DrawnMetrics metrics;
  std::vector<Chart> charts;
  for (const char* name : {"exact_match", "chrf"}) {
    const MetricEntry& row = metric_named(name);
    metrics.push_back(row.create({}));
    charts.push_back({.title = fmt::format("{} of the lines", row.title),
                      .x_label = "source length [words]",
                      .y_label = std::string(row.title),
                      .from_zero = true});
  }
  charts[0].title = "Lines translated exactly as the reference", charts[0].y_label = "share of the lines [%]";
  const std::vector<std::string> names = names_of(settings.hypotheses);
  for (size_t i = 0; i < names.size(); ++i) {
    const auto hypothesis = read_parallel(settings.hypotheses[i], settings.reference, reference.size());
    const Bins bins = measure(source, reference, hypothesis, settings.width, metrics);
    for (size_t k = 0; k < charts.size(); ++k) {
      Series series{.name = names[i]};
      series.set_style(i);
      MetricSums all(*metrics[k]);
      for (const auto& [number, bin] : bins) {
        series.x.push_back(bin.length()), series.y.push_back(bin.sums[k].score());
        all += bin.sums[k];
      }
      series.note = fmt::format("all lines: {:.1f}", all.score());
      charts[k].series.push_back(std::move(series));
    }
  }
  for (Chart& chart : charts)
    if (settings.trained_to > 0) chart.series.push_back(length_marker(settings.trained_to));
  std::vector<std::string> inputs = settings.hypotheses;
  inputs.insert(inputs.end(), {settings.source, settings.reference});
  write_picture(settings.picture,
                charts_svg("Accuracy by length of the source", charts, settings.picture.theme), inputs);
}

}  // namespace

void add_plot_accuracy(CLI::App& plot) {
  const auto settings = std::make_shared<PlotAccuracySettings>();
  CLI::App& command =
      *plot.add_subcommand("accuracy", "Draw how well lines are translated, by the length of their source");
  command.add_option("hypotheses", settings->hypotheses, "files of translations, one for each system")
      ->type_name("FILE")
      ->required();
  command.add_option("-s,--source", settings->source, "file of the lines that were translated")
      ->type_name("FILE")
      ->required();
  command.add_option("-r,--reference", settings->reference, "file of reference translations")
      ->type_name("FILE")
      ->required();
  add_value_option(command, "--width", settings->width, "lengths that share a point, in words",
                   between(1, 1000));
  add_value_option(command, "--trained-to", settings->trained_to,
                   "length of the longest lines in training, in words, to mark in the picture [none]",
                   between(1, 1'000'000));
  add_picture_options(command, settings->picture);
  command.footer(
      "Example:\n  sixfold plot accuracy sinusoidal.de alibi.de --source test.en --reference test.de --output "
      "accuracy.svg");
  command.callback([settings] { draw(*settings); });
}

}  // namespace sixfold::cli
