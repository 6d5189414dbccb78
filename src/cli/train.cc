#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "base/log.h"
#include "cli/commands.h"
#include "train/trainer.h"

namespace sixfold::cli {
namespace {

std::atomic<int> stop_signal{0};

// The first signal asks for a checkpoint and an end; the second ends at once: files are whole at any moment.
extern "C" void on_signal(int signal) {
  if (stop_signal.exchange(signal) != 0) _exit(128 + signal);
}

struct Arguments {
  std::string config, run;
  bool resume = false;
  std::vector<std::string> assignments;
};

void run(const Arguments& a) {
  const TrainOptions options = read_train_options(a.config, a.assignments);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const TrainOutcome outcome = train(options, {a.run, a.resume, &stop_signal});
  if (!outcome.model.empty()) {
    log_info("done: {}", outcome.model);
    return;
  }
  if (outcome.checkpoint.empty())
    log_info("stopped before the first update; there is nothing to resume");
  else
    // The run's own config has what --set changed.
    log_info("stopped at update {}; to go on: sixfold train {}/config.json --out {} --resume", outcome.updates,
             a.run, a.run);
  std::exit(128 + stop_signal.load());
}

}  // namespace

void add_train(CLI::App& app) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("train", "Train a model from parallel text");
  command->add_option("config", a->config, "what to train, on what, how long: CONFIG.yaml")->required();
  command->add_option("--out", a->run, "the run's folder; the model will be in its folder model")->required();
  command->add_flag("--resume", a->resume, "go on from the newest checkpoint, bit for bit");
  command
      ->add_option("--set", a->assignments,
                   "KEY=VALUE over the config, e.g. train.minutes=5 data.train=a.en,a.de")
      ->type_name("KEY=VALUE")
      ->take_all();
  command->add_flag_callback(
      "--options", [] { fmt::print("{}", documented_train_options()), std::exit(0); },
      "list every key of a config and its default");
  command->footer(
      "Example:\n  sixfold train recipes/demo.yaml --out run --set train.minutes=5\n"
      "  sixfold train recipes/demo.yaml --out run --resume");
  command->callback([a] { run(*a); });
}

}  // namespace sixfold::cli
