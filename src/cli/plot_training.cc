#include <filesystem>
#include <map>
#include <memory>

#include "base/error.h"
#include "cli/named_option.h"
#include "cli/picture.h"
#include "cli/plots.h"
#include "plot/chart.h"
#include "tasks/tasks.h"
#include "train/schedule.h"
#include "train/score_names.h"
#include "train/training_log.h"

namespace sixfold::cli {
namespace {

namespace fs = std::filesystem;

struct CurveSettings {
  std::vector<std::string> runs;
  PictureOptions picture;
};

using Curves = std::map<std::string, LoggedCurve>;

/// Adds the curves of one name for all runs: one colour for each run, one kind of line for each name.
void add_series(Chart& chart, const std::vector<Curves>& all, const std::vector<std::string>& names,
                const std::string& curve, const std::string& suffix, bool dashed) {
  for (size_t run = 0; run < all.size(); ++run) {
    const auto found = all[run].find(curve);
    if (found == all[run].end()) continue;
    Series series{.name = "", .x = found->second.updates, .y = found->second.values};
    const std::string prefix = all.size() > 1 ? names[run] : "";
    series.name = prefix.empty() ? suffix : suffix.empty() ? prefix : prefix + ", " + suffix;
    series.color = static_cast<int>(run);
    series.dashed = dashed;
    chart.series.push_back(std::move(series));
  }
}

void draw_curves(const CurveSettings& settings) {
  std::vector<Curves> all;
  for (const std::string& run : settings.runs)
    all.push_back(read_training_log(fs::is_directory(run) ? run + "/train.jsonl" : run));
  std::vector<Chart> charts;
  const auto add = [&](Chart chart) {
    if (!chart.series.empty()) charts.push_back(std::move(chart));
  };
  Chart loss{.title = "Loss per target token", .x_label = "updates", .y_label = "cross entropy [nats]"};
  add_series(loss, all, settings.runs, "loss", "training (label-smoothed)", false);
  add_series(loss, all, settings.runs, "validation loss", "validation", true);
  add(loss);
  for (const ScoreName& score : score_names()) {
    Chart chart{
        .title = std::string(score.title) + " of validation", .x_label = "updates", .y_label = score.title};
    add_series(chart, all, settings.runs, std::string("validation ") + score.name, "", false);
    add(chart);
  }
  Chart rate{.title = "Learning rate", .x_label = "updates", .y_label = "learning rate", .from_zero = true};
  add_series(rate, all, settings.runs, "learning_rate", "", false);
  add(rate);
  Chart norm{.title = "Gradient norm", .x_label = "updates", .y_label = "norm", .log_y = true};
  add_series(norm, all, settings.runs, "gradient_norm", "", false);
  add(norm);
  const std::string title = settings.runs.size() == 1
                                ? "Training of " + settings.runs[0]
                                : fmt::format("Training of {} models", settings.runs.size());
  write_picture(settings.picture, charts_svg(title, charts, settings.picture.theme), settings.runs);
}

struct ScheduleSettings {
  std::vector<std::string> configs;
  int64_t updates = 0;
  PictureOptions picture;
};

void draw_schedule(const ScheduleSettings& settings) {
  Chart chart{.title = "", .x_label = "updates", .y_label = "learning rate", .series = {}, .from_zero = true};
  for (const std::string& config : settings.configs) {
    const auto task = read_task_config(config, {});
    const TrainOptions options = task->training();
    OptionNode all = task->options();
    const int d_model = std::stoi(all.find("model")->find("d_model")->text);
    const int64_t given = settings.updates > 0 ? settings.updates : options.train.updates;
    const int64_t last = given > 0 ? given : 10'000;
    const Schedule schedule(options.schedule, d_model, last);
    Series series{.name = fmt::format("{}: {}{}", config, name_of_enum(options.schedule.kind),
                                      given > 0 ? "" : fmt::format(", assuming {} updates", last)),
                  .color = static_cast<int>(chart.series.size())};
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
  command.add_option("runs", settings->runs, "folders of training runs, or their train.jsonl files")
      ->type_name("RUN")
      ->required();
  add_picture_options(command, settings->picture);
  command.footer("Example:\n  sixfold plot curves run another-run --output curves.svg");
  command.callback([settings] { draw_curves(*settings); });
}

void add_plot_schedule(CLI::App& plot) {
  const auto settings = std::make_shared<ScheduleSettings>();
  CLI::App& command = *plot.add_subcommand("schedule", "Draw the learning rate schedules of training configs");
  command.add_option("configs", settings->configs, "training configs")->type_name("CONFIG.yaml")->required();
  command
      .add_option("--updates", settings->updates,
                  "number of updates of the run, if the config gives only epochs or minutes")
      ->check(number_in<int64_t>(at_least(1)))
      ->type_name("N");
  add_picture_options(command, settings->picture);
  command.footer("Example:\n  sixfold plot schedule recipes/demo.yaml --output schedule.svg");
  command.callback([settings] { draw_schedule(*settings); });
}

}  // namespace sixfold::cli
