#include <filesystem>
#include <map>
#include <memory>

#include "base/error.h"
#include "metrics/metric.h"
#include "model_folder/model_folder.h"
#include "program/kit/value_option.h"
#include "program/picture.h"
#include "program/plot/chart.h"
#include "program/plots.h"
#include "tasks/tasks.h"
#include "train/schedule.h"
#include "train/training_log.h"

namespace sixfold::cli {
namespace {

namespace fs = std::filesystem;

struct CurveSettings {
  std::vector<std::string> runs;
  PictureOptions picture;
};

using Curves = std::map<std::string, LoggedCurve>;

/// The runs that are drawn, with their curves.
struct Runs {
  std::vector<std::string> names;
  std::vector<Curves> curves;
};

/// Adds the curve with this name of each run. A run has the same colour and pattern in every chart.
void add_series(Chart& chart, const Runs& runs, const std::string& curve) {
  for (size_t run = 0; run < runs.names.size(); ++run) {
    const auto found = runs.curves[run].find(curve);
    if (found == runs.curves[run].end()) continue;
    Series series{.name = runs.names[run], .x = found->second.updates, .y = found->second.values};
    series.set_style(run);
    chart.series.push_back(std::move(series));
  }
}

/// The training and validation losses of a single run share a chart; those of several runs have two charts,
/// because there would be too many lines in one.
std::vector<Chart> loss_charts(const Runs& runs) {
  Chart training{.title = "Loss per target token in training (label-smoothed)",
                 .x_label = "updates",
                 .y_label = "cross entropy [nats]"};
  Chart validation = training;
  validation.title = "Loss per target token of validation";
  add_series(training, runs, "loss");
  add_series(validation, runs, "validation loss");
  if (runs.names.size() > 1 || training.series.empty() || validation.series.empty())
    return {training, validation};
  Series both[] = {training.series[0], validation.series[0]};
  both[0].name = "training (label-smoothed)", both[1].name = "validation";
  both[1].set_style(1);
  training.title = "Loss per target token";
  training.series = {both[0], both[1]};
  return {training};
}

void draw_curves(const CurveSettings& settings) {
  const std::vector<std::string> paths = with_runs_of_sweeps(settings.runs);
  Runs runs{.names = names_of_runs(paths), .curves = {}};
  for (const std::string& path : paths)
    runs.curves.push_back(read_training_log(fs::is_directory(path) ? path + "/train.jsonl" : path));
  std::vector<Chart> charts = loss_charts(runs);
  const auto add = [&](Chart chart, const std::string& curve) {
    add_series(chart, runs, curve);
    charts.push_back(std::move(chart));
  };
  for (const MetricEntry& metric : metric_table())
    add({.title = fmt::format("{} of validation", metric.title),
         .x_label = "updates",
         .y_label = std::string(metric.title)},
        fmt::format("validation {}", metric.name));
  add({.title = "Learning rate", .x_label = "updates", .y_label = "learning rate", .from_zero = true},
      "learning_rate");
  add({.title = "Gradient norm", .x_label = "updates", .y_label = "norm", .log_y = true}, "gradient_norm");
  std::erase_if(charts, [](const Chart& chart) { return chart.series.empty(); });
  const std::string title =
      paths.size() == 1 ? "Training of " + paths[0] : fmt::format("Training of {} models", paths.size());
  write_picture(settings.picture, charts_svg(title, charts, settings.picture.theme), settings.runs);
}

struct ScheduleSettings {
  std::vector<std::string> configs;
  int64_t updates = 0;
  PictureOptions picture;
};

void draw_schedule(const ScheduleSettings& settings, Tasks tasks) {
  Chart chart{.title = "", .x_label = "updates", .y_label = "learning rate", .series = {}, .from_zero = true};
  for (const std::string& config : settings.configs) {
    const auto task = read_task_config(config, {}, tasks);
    const TrainOptions options = task->training();
    OptionNode all = task->options();
    const int d_model = options.start.model.empty() ? std::stoi(all.find("model")->find("d_model")->text)
                                                    : load_model_config(options.start.model).d_model;
    const int64_t given = settings.updates > 0 ? settings.updates : options.train.updates;
    const int64_t last = given > 0 ? given : 10'000;
    const Schedule schedule(options.schedule, d_model, last);
    Series series{.name = fmt::format("{}: {}{}", config, name_of_enum(options.schedule.kind),
                                      given > 0 ? "" : fmt::format(", assuming {} updates", last))};
    series.set_style(chart.series.size());
    const int64_t step = std::max<int64_t>(1, last / 500);
    for (int64_t place = 0; place <= (last - 1) / step; ++place) {
      const int64_t update = 1 + place * step;
      series.x.push_back(static_cast<double>(update));
      series.y.push_back(schedule.rate(update));
    }
    chart.series.push_back(std::move(series));
  }
  chart.title = settings.configs.size() == 1 ? chart.series[0].name : "";
  write_picture(settings.picture, charts_svg("Learning rate", {chart}, settings.picture.theme),
                settings.configs);
}

}  // namespace

void add_plot_curves(CLI::App& plot) {
  const auto settings = std::make_shared<CurveSettings>();
  CLI::App& command =
      *plot.add_subcommand("curves", "Draw loss, scores and learning rate of one or several runs");
  command.add_option("runs", settings->runs, "folders of training runs or of sweeps, or train.jsonl files")
      ->type_name("RUN")
      ->required();
  add_picture_options(command, settings->picture);
  command.footer(
      "A run is named after its folder. The folder of a sweep stands for all of its runs.\n"
      "Example:\n  sixfold plot curves run another-run --output curves.svg\n"
      "  sixfold plot curves runs/table3 --output curves.svg");
  command.callback([settings] { draw_curves(*settings); });
}

void add_plot_schedule(CLI::App& plot, Tasks tasks) {
  const auto settings = std::make_shared<ScheduleSettings>();
  CLI::App& command = *plot.add_subcommand("schedule", "Draw the learning rate schedules of training configs");
  command.add_option("configs", settings->configs, "training configs")->type_name("CONFIG.yaml")->required();
  add_value_option(command, "--updates", settings->updates,
                   "number of updates of the run, if the config gives only epochs or minutes [none]",
                   at_least(1));
  add_picture_options(command, settings->picture);
  command.footer("Example:\n  sixfold plot schedule recipes/demo.yaml --output schedule.svg");
  command.callback([settings, tasks] { draw_schedule(*settings, tasks); });
}

}  // namespace sixfold::cli
