#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "program/commands.h"
#include "program/dashboard_server.h"
#include "program/kit/distributed_run.h"
#include "program/kit/interrupt.h"
#include "program/kit/text_io.h"
#include "tasks/tasks.h"
#include "train/agreement.h"
#include "train/trainer.h"

namespace sixfold::cli {
namespace {

constexpr const char* dashboard_port = "7071";

struct TrainArguments {
  std::string config, run, on_spike;
  std::string dashboard;  ///< its port; empty: there is none
  bool resume = false, other_processor = false, fit = false, no_check = false;
  std::vector<std::string> assignments;
};

/// Quotes a text so that a shell reads it as one word.
std::string shell_word(const std::string& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=@%+";
  if (!text.empty() && text.find_first_not_of(plain) == text.npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// --set takes all arguments that follow it. If no config was given, the first of them without "=" is the
/// config, as in --set train.minutes=5 mine.yaml.
void find_config(TrainArguments& a) {
  const auto is_no_assignment = [](const std::string& word) { return word.find('=') == word.npos; };
  const auto word = std::find_if(a.assignments.begin(), a.assignments.end(), is_no_assignment);
  if (a.config.empty() && word != a.assignments.end()) {
    a.config = *word;
    a.assignments.erase(word);
  }
  // A word after --dashboard that is not a port is the config, too.
  if (a.config.empty() && !a.dashboard.empty() &&
      a.dashboard.find_first_not_of("0123456789") != std::string::npos)
    a.config = std::exchange(a.dashboard, dashboard_port);
  require(!a.config.empty(), "no config is given; expected, for example: sixfold train mine.yaml --output {}",
          a.run);
}

std::unique_ptr<DashboardServer> start_dashboard(const TrainArguments& a) {
  if (a.dashboard.empty()) return nullptr;
  int port = -1;
  const char* end = a.dashboard.data() + a.dashboard.size();
  const auto parsed = std::from_chars(a.dashboard.data(), end, port);
  require(parsed.ptr == end && port >= 0 && port <= 65535,
          "--dashboard: expected a port from 0 to 65535, found '{}'", a.dashboard);
  auto server = std::make_unique<DashboardServer>(std::vector{a.run}, "127.0.0.1", port);
  log_info("the run can be watched at {}", server->address());
  return server;
}

/// The nearest existing folder that contains a path, or the path itself.
std::string existing_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(path);
  while (!std::filesystem::is_directory(folder, ignored) && folder.has_relative_path())
    folder = folder.parent_path();
  return folder.string();
}

int run(const TrainArguments& a, Tasks tasks, Processes& processes) {
  if (processes.size() > 1)
    check_agreement(processes, {{"--output", a.run}, {"--resume", a.resume ? "given" : "not given"}});
  std::vector<std::string> assignments = a.assignments;
  if (!a.on_spike.empty()) assignments.push_back("train.on_spike=" + a.on_spike);
  const bool resumes = a.resume && std::filesystem::exists(a.run);
  const auto config = read_task_config(a.config, assignments, tasks, resumes ? a.run : "");
  auto dashboard = processes.is_root() ? start_dashboard(a) : nullptr;
  if (processes.is_root() && !resumes && !a.no_check)
    for (const Finding& finding : config->check({.folder = existing_folder(a.run), .stop = &note_interrupts()}))
      log_warning("{} ({}{}{})", finding.text, finding.id, finding.examples.empty() ? "" : "; such as ",
                  join(finding.examples, "; "));
  const TrainOutcome outcome =
      train(*config, {a.run, a.resume, a.other_processor, a.fit, &note_interrupts(), &processes});
  dashboard.reset();
  if (!outcome.model.empty()) {
    log_info("done: {}", outcome.model);
    return 0;
  }
  // The config in the run's folder includes the changes by --set.
  const std::string command =
      fmt::format("sixfold train {} --output {} --resume{}{}", shell_word(a.run + "/config.json"),
                  shell_word(a.run), a.fit ? " --fit" : "", a.other_processor ? " --other-processor" : "");
  if (outcome.updates == 0)
    log_info("stopped before the first update; to start again: {}", command);
  else
    log_info("stopped at update {}; to resume: {}", outcome.updates, command);
  return interrupt_status();
}

}  // namespace

void add_train(CLI::App& app, Tasks tasks) {
  const auto a = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "Train a model on a parallel corpus, or another task");
  command->add_option("config", a->config, "training config: model, text and length of the training (required)")
      ->type_name("CONFIG.yaml");
  command
      ->add_option("-o,--output,--out", a->run,
                   "folder of the run, new or with the run to resume; the trained model will be in its "
                   "subfolder 'model'")
      ->type_name("DIR")
      ->required();
  command->add_flag("--resume", a->resume,
                    "resume from the newest checkpoint, bit for bit; start a new run if there is none yet");
  command->add_flag("--other-processor", a->other_processor,
                    "allow resuming on another instruction set; the result is then not bit for bit the same");
  command->add_flag(
      "--fit", a->fit,
      "split batches into micro-batches that fit into memory; the result is the same except for rounding (with "
      "norm: batch, which normalizes over a micro-batch, it is another), and a resumed run keeps their size");
  command->add_flag("--no-check", a->no_check,
                    "do not check the data and the settings first, as 'sixfold check' does");
  command
      ->add_option("--dashboard", a->dashboard,
                   "show the run in a browser while it goes on, at this port of this machine [7071]")
      ->type_name("PORT")
      ->expected(0, 1)
      ->default_str(dashboard_port);
  command->add_option("--on-spike", a->on_spike, "sets train.on_spike: go_on, stop or rollback")
      ->type_name("NAME");
  command
      ->add_option(
          "--set", a->assignments,
          "set keys of the config, e.g. train.minutes=5 data.train=a.en,a.de or data.train='[a.en, a.de]'")
      ->type_name("KEY=VALUE")
      ->take_all();
  command
      ->add_option_function<std::string>(
          "--options",
          [tasks](const std::string& task) {
            print_and_exit(to_documented_yaml(trained_task(task, "--options", tasks).default_options()));
          },
          "list every key of the training config of a task with its default, and exit; without a task, of "
          "translation")
      ->type_name("TASK")
      ->expected(0, 1)
      ->trigger_on_parse()
      ->default_str("translation");
  command->footer(
      "Example:\n  sixfold train recipes/demo.yaml --output run --set train.minutes=5\n"
      "  sixfold train recipes/demo.yaml --output run --resume");
  command->callback([a, tasks] {
    find_config(*a);
    const int status =
        on_all_processes("train", [&](Processes& processes) { return run(*a, tasks, processes); });
    if (status != 0) std::exit(status);
  });
}

}  // namespace sixfold::cli
