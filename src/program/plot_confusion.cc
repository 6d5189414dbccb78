#include <map>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/plural.h"
#include "data/image_reader.h"
#include "metrics/classification.h"
#include "metrics/evaluation.h"
#include "metrics/metrics.h"
#include "program/kit/label_files.h"
#include "program/kit/text_io.h"
#include "program/picture.h"
#include "program/plot/confusion.h"
#include "program/plots.h"

namespace sixfold::cli {
namespace {

/// Reads the labels on the lines of a text, or in an IDX file.
std::vector<std::string> read_labels(const std::string& name) {
  const std::string path = readable_path(name);
  if (auto labels = read_idx_labels(path)) return *labels;
  return read_lines(path);
}

/// More labels would not fit on a screen.
constexpr size_t max_labels = 200;

struct PlotConfusionSettings {
  std::string hypothesis, reference;
  PictureOptions picture;
};

void draw(const PlotConfusionSettings& settings) {
  std::vector<std::string> truth = read_labels(settings.reference),
                           predicted = read_labels(settings.hypothesis);
  require(!truth.empty(), "{}: is empty; expected a label on each line", text_name(settings.reference));
  require_equal_lines(settings.hypothesis, predicted.size(), settings.reference, truth.size());
  refuse_names_beside_numbers(predicted, settings.hypothesis, settings.reference);
  for (auto* lines : {&truth, &predicted})
    for (std::string& line : *lines) line = label_of(line);
  std::map<std::pair<std::string, std::string>, int64_t> pairs;
  std::set<std::string> labels(truth.begin(), truth.end());
  labels.insert(predicted.begin(), predicted.end());
  for (size_t i = 0; i < truth.size(); ++i) ++pairs[{truth[i], predicted[i]}];
  ConfusionMap map{.labels = {labels.begin(), labels.end()},
                   .counts = {},
                   .title = counted(truth.size(), "text"),
                   .theme = settings.picture.theme};
  require(map.labels.size() <= max_labels, "there are {} different labels; at most {} can be drawn",
          map.labels.size(), max_labels);
  for (const std::string& label : map.labels)
    for (const std::string& predicted_label : map.labels) map.counts.push_back(pairs[{label, predicted_label}]);
  for (const MetricEntry& metric : metric_table())
    if (metric.content == LineContent::label)
      map.title += fmt::format(", {} {:.1f}%", metric.title,
                               score_system(*metric.create({.labels = map.labels}), predicted, {truth}).score);
  write_picture(settings.picture, confusion_svg(map), {settings.hypothesis, settings.reference});
}

}  // namespace

void add_plot_confusion(CLI::App& plot) {
  const auto settings = std::make_shared<PlotConfusionSettings>();
  CLI::App& command =
      *plot.add_subcommand("confusion", "Draw how often each label was predicted for each true label");
  command.add_option("hypothesis", settings->hypothesis, "file whose lines begin with the predicted labels")
      ->type_name("FILE")
      ->required();
  command.add_option("-r,--reference", settings->reference, "file whose lines begin with the true labels")
      ->type_name("FILE")
      ->required();
  add_picture_options(command, settings->picture);
  command.footer(
      "A label ends at a tab, so that the output of classify and the files of training fit.\n"
      "Example:\n  sixfold plot confusion predicted.tsv --reference test.tsv --output confusion.svg");
  command.callback([settings] { draw(*settings); });
}

}  // namespace sixfold::cli
