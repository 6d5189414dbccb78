#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "train/trainer.h"

namespace sixfold::cli {
namespace {

struct Arguments {
  std::string config, run, on_spike;
  bool resume = false, other_processor = false, fit = false;
  std::vector<std::string> assignments;
};

/// As a shell takes it for one word.
std::string shell_word(const std::string& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=@%+";
  if (!text.empty() && text.find_first_not_of(plain) == text.npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// One --set takes all the words that follow it. Among them, the first without = is the config, if no other is
/// given: --set train.minutes=5 mine.yaml.
void find_config(Arguments& a) {
  const auto no_assignment = [](const std::string& word) { return word.find('=') == word.npos; };
  const auto word = std::find_if(a.assignments.begin(), a.assignments.end(), no_assignment);
  if (a.config.empty() && word != a.assignments.end()) {
    a.config = *word;
    a.assignments.erase(word);
  }
  require(!a.config.empty(), "no config is given; for example: sixfold train mine.yaml --output {}", a.run);
}

void run(const Arguments& a) {
  std::vector<std::string> assignments = a.assignments;
  if (!a.on_spike.empty()) assignments.push_back("train.on_spike=" + a.on_spike);
  const TrainOptions options = read_train_options(a.config, assignments);
  const TrainOutcome outcome = train(options, {a.run, a.resume, a.other_processor, a.fit, &note_interrupts()});
  if (!outcome.model.empty()) {
    log_info("done: {}", outcome.model);
    return;
  }
  // The run's own config has what --set changed.
  const std::string command =
      fmt::format("sixfold train {} --output {} --resume{}{}", shell_word(a.run + "/config.json"),
                  shell_word(a.run), a.fit ? " --fit" : "", a.other_processor ? " --other-processor" : "");
  if (outcome.updates == 0)
    log_info("stopped before the first update; to begin again: {}", command);
  else
    log_info("stopped at update {}; to go on: {}", outcome.updates, command);
  std::exit(interrupt_status());
}

}  // namespace

void add_train(CLI::App& app) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("train", "Train a model from parallel text");
  command->add_option("config", a->config, "what to train, on what and for how long (required)")
      ->type_name("CONFIG.yaml");
  command
      ->add_option(
          "-o,--output,--out", a->run,
          "the run's folder, which is new or that of the run to resume; the model will be in its folder model")
      ->type_name("DIR")
      ->required();
  command->add_flag("--resume", a->resume,
                    "go on from the newest checkpoint, bit for bit; begin where there is none yet");
  command->add_flag("--other-processor", a->other_processor,
                    "resume on another instruction set than before: no longer bit for bit");
  command->add_flag("--fit", a->fit,
                    "work through batches in parts so small that memory suffices; the result is the same but "
                    "for rounding, and "
                    "a resume keeps the parts");
  command->add_option("--on-spike", a->on_spike, "train.on_spike: go_on, stop or rollback")->type_name("NAME");
  command
      ->add_option(
          "--set", a->assignments,
          "set keys of the config, e.g. train.minutes=5 data.train=a.en,a.de or data.train='[a.en, a.de]'")
      ->type_name("KEY=VALUE")
      ->take_all();
  command->add_flag_callback(
      "--options", [] { fmt::print("{}", documented_train_options()), std::exit(0); },
      "list every key of a config and its default");
  command->footer(
      "Example:\n  sixfold train recipes/demo.yaml --output run --set train.minutes=5\n"
      "  sixfold train recipes/demo.yaml --output run --resume");
  command->callback([a] {
    find_config(*a);
    run(*a);
  });
}

}  // namespace sixfold::cli
