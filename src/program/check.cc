#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "base/log.h"
#include "data/check/finding.h"
#include "program/commands.h"
#include "program/kit/interrupt.h"
#include "program/kit/text_io.h"
#include "tasks/tasks.h"

namespace sixfold::cli {
namespace {

/// The exit status if something was found. Input errors have 2, other errors 1.
constexpr int found_status = 3;

struct CheckArguments {
  std::string config;
  std::vector<std::string> assignments;
  bool json = false;
};

int run(const CheckArguments& a, Tasks tasks) {
  const auto config = read_task_config(a.config, a.assignments, tasks);
  std::error_code unknown;  // the run may be written elsewhere
  std::vector<Finding> findings =
      config->check({.folder = std::filesystem::current_path(unknown), .stop = &note_interrupts()});
  const TrainOptions training = config->training();
  std::vector<std::string> advice = advice_for(training, training.train.updates);
  std::ranges::copy(config->advice(), std::back_inserter(advice));
  for (const std::string& one : advice) findings.push_back({.id = "settings", .text = one});
  TextOutput output("-");
  if (a.json)
    output.write(to_json_text(findings));
  else
    output.write(findings.empty() ? "nothing was found that speaks against this training\n"
                                  : without_controls(to_text(findings)));
  output.close();
  return findings.empty() ? 0 : found_status;
}

}  // namespace

void add_check(CLI::App& app, Tasks tasks) {
  const auto a = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand(
      "check", "Look for what is wrong with the data and the settings of a training, before it begins");
  command->add_option("config", a->config, "training config, as for sixfold train")
      ->type_name("CONFIG.yaml")
      ->required();
  command->add_option("--set", a->assignments, "set keys of the config, as for sixfold train")
      ->type_name("KEY=VALUE")
      ->take_all();
  command->add_flag("--json", a->json,
                    "print the findings as a JSON list of objects with id, severity, text and examples");
  command->footer(
      "The exit status is 0 if nothing was found, and 3 if something was.\n\n"
      "Example:\n  sixfold check mine.yaml --set train.minutes=10");
  command->callback([a, tasks] {
    if (const int status = run(*a, tasks); status != 0) std::exit(status);
  });
}

}  // namespace sixfold::cli
