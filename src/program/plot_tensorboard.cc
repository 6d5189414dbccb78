#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "model_folder/ownership.h"
#include "program/plots.h"
#include "train/tensorboard.h"
#include "train/training_log.h"

namespace sixfold::cli {
namespace {

namespace fs = std::filesystem;

struct PlotTensorboardSettings {
  std::vector<std::string> runs;
  std::string output;
};

std::string name_of(const std::string& run) {
  std::string name = name_of_run(run);
  require(!name.empty(), "{}: is not the folder of a training run", run);
  return name;
}

/// The folders to write to, one for each run; all are checked before the first is written.
std::vector<std::string> folders_for(const std::string& output, const std::vector<std::string>& runs) {
  std::vector<std::string> folders;
  for (const std::string& run : runs) {
    require(fs::exists(run), "{}: there is no folder of that name", run);
    require(is_run_folder(run),
            "{}: is not the folder of a training run; give the folder that 'sixfold train --output' named",
            run);
    const std::string folder = (fs::path(output) / name_of(run)).string();
    require(std::ranges::find(folders, folder) == folders.end(),
            "{}: two runs have the name {}; write them to two output folders", run, name_of(run));
    require_outside_runs(folder);
    require(may_hold_event_file(folder),
            "{}: already exists and holds other files than '{}'; choose a new output folder", folder,
            event_file_name);
    folders.push_back(folder);
  }
  return folders;
}

void run(const PlotTensorboardSettings& settings) {
  require(!settings.output.empty(),
          "the name of the output folder is empty; name a folder for the event files");
  const std::vector<std::string> runs = with_runs_of_sweeps(settings.runs),
                                 folders = folders_for(settings.output, runs);
  for (size_t i = 0; i < folders.size(); ++i) {
    const std::string log = runs[i] + "/train.jsonl";
    require(fs::exists(log), "{}: has no train.jsonl yet; the run has not started to train", runs[i]);
    std::error_code failure;
    fs::create_directories(folders[i], failure);
    if (failure) throw_environment_error("can't create the folder {}: {}", folders[i], failure.message());
    write_event_file(log, (fs::path(folders[i]) / event_file_name).string());
  }
  log_info("{} written; to see {}: tensorboard --logdir {}", counted(folders.size(), "event file"),
           folders.size() == 1 ? "it" : "them", settings.output);
}

}  // namespace

void add_plot_tensorboard(CLI::App& plot) {
  const auto settings = std::make_shared<PlotTensorboardSettings>();
  CLI::App& command = *plot.add_subcommand("tensorboard", "Write the curves of runs as files for TensorBoard");
  command.add_option("runs", settings->runs, "folders of training runs or of sweeps")
      ->type_name("RUN")
      ->required();
  command
      .add_option("-o,--output,--out", settings->output,
                  "folder for the event files, one in a subfolder for each run; files of an earlier call are "
                  "replaced")
      ->type_name("DIR")
      ->required();
  command.footer(
      "Example:\n  sixfold plot tensorboard run another-run --output events\n"
      "  tensorboard --logdir events");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
