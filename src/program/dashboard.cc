#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "model_folder/ownership.h"
#include "program/commands.h"
#include "program/dashboard_server.h"
#include "train/training_log.h"

namespace sixfold::cli {
namespace {

struct DashboardSettings {
  std::vector<std::string> runs;
  std::string host = "127.0.0.1";
  int port = 7071;
};

void require_run(const std::string& folder) {
  require(std::filesystem::exists(folder), "{}: there is no file or folder of that name", folder);
  require(is_run_folder(folder),
          "{}: is not the folder of a training run; give the folder that 'sixfold train --output' named",
          folder);
}

void run(const DashboardSettings& settings) {
  const std::vector<std::string> runs = with_runs_of_sweeps(settings.runs);
  for (const std::string& folder : runs) require_run(folder);
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // first: threads inherit the mask
  const DashboardServer server(runs, settings.host, settings.port);
  log_info("{} at {}; Ctrl-C ends the page", counted(runs.size(), "run"), server.address());
  int signal = 0;
  sigwait(&set, &signal);
}

}  // namespace

void add_dashboard(CLI::App& app) {
  const auto settings = std::make_shared<DashboardSettings>();
  CLI::App& command =
      *app.add_subcommand("dashboard", "Watch training runs in a browser, and compare finished ones");
  command
      .add_option("RUN", settings->runs, "folders of runs or of sweeps, as given to --output of train or sweep")
      ->type_name("DIR")
      ->required();
  command.add_option("--port", settings->port, "port to listen to; 0: any that is free")
      ->type_name("N")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--host", settings->host, "address to listen to; 0.0.0.0: all addresses of this machine")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command.footer(
      "The page shows the curves of train.jsonl and the samples of validations as they are written. It "
      "changes\n"
      "nothing in the folders.\n"
      "Example:\n  sixfold dashboard run-1 run-2");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
