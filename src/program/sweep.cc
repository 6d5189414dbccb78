#include "train/sweep.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/folder_mark.h"
#include "base/join.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/lines.h"
#include "metrics/evaluation.h"
#include "metrics/metrics.h"
#include "model/transformer.h"
#include "model_folder/model_folder.h"
#include "model_folder/ownership.h"
#include "program/commands.h"
#include "program/kit/interrupt.h"
#include "program/kit/text_io.h"
#include "program/sweep_table.h"
#include "tasks/tasks.h"
#include "tasks/translation/task.h"
#include "tasks/translation/translator.h"
#include "train/run_result.h"
#include "train/trainer.h"

namespace sixfold::cli {
namespace {

struct SweepArguments {
  std::vector<std::string> recipes, assignments, test;
  std::string output;
  bool other_processor = false, fit = false;
};

/// A text to translate, and its reference translations.
struct TestText {
  std::vector<std::string> source, reference;
};

TestText read_test(const std::vector<std::string>& files) {
  if (files.empty()) return {};
  require(files.size() == 2, "--test: expected two files, a source and its reference: --test test.en,test.de");
  TestText text{.source = read_lines(files[0]),
                .reference = read_lines(files[1], InvalidUtf8::error, ByteOrderMark::keep)};
  require(!text.source.empty() && text.source.size() == text.reference.size(),
          "{} has {} and {} has {}; line n of one must be the translation of line n of the other", files[0],
          counted(text.source.size(), "line"), files[1], counted(text.reference.size(), "line"));
  return text;
}

/// Trains the recipes that have not finished, one after the other, and writes the table after each.
class Sweep {
 public:
  Sweep(const SweepArguments& a, Tasks tasks);
  /// Throws `Cancelled` if it was interrupted, and an environment error if a recipe failed.
  void run();

 private:
  template <class Action>
  void attempt(size_t index, const Action& action);
  void require_same_settings() const;
  void train_row(size_t index);
  void evaluate(size_t index);
  double test_score(size_t index) const;
  void write_table() const;
  void report() const;
  /// "recipe 2 of 5, heads-4"
  std::string progress(size_t index) const {
    return fmt::format("recipe {} of {}, {}", index + 1, table_.rows.size(), table_.rows[index].name);
  }
  std::string path(const std::string& name) const { return arguments_.output + "/" + name; }

  const SweepArguments& arguments_;
  std::vector<std::unique_ptr<TaskConfig>> configs_;
  TestText test_;
  SweepTable table_;
};

/// Reads everything that can be wrong before anything is written.
Sweep::Sweep(const SweepArguments& a, Tasks tasks) : arguments_(a) {
  std::vector<std::string> runs;
  for (SweepRow& row : read_sweep(a.recipes, a.assignments)) {
    configs_.push_back(task_config_of(std::move(row.options), row.where, tasks));
    runs.push_back(path(row.name));
    table_.rows.push_back({.name = row.name, .changes = row.changes, .run = runs.back()});
  }
  table_.title = fmt::format("{}: {}", a.output, counted(runs.size(), "training"));
  test_ = read_test(a.test);
  for (size_t i = 0; i < configs_.size() && !a.test.empty(); ++i)
    require(configs_[i]->task() == TranslationOptions::task_name,
            "--test: {} does not train a translation model, which BLEU is for; leave out --test",
            table_.rows[i].name);
  if (!a.test.empty()) {
    table_.test_text = join(a.test);
    table_.signature = signature_of(*sweep_test_metric().create({}), 1);
  }
  require_new_or_sweep(a.output, runs);
  std::vector<std::string> inputs = a.recipes;
  inputs.insert(inputs.end(), a.test.begin(), a.test.end());
  for (const char* file : {"table.md", "table.json", "table.svg"}) require_output_file(path(file), inputs);
}

void Sweep::run() {
  std::error_code failure;
  std::filesystem::create_directories(arguments_.output, failure);
  if (failure) throw_environment_error("{}: can't create the folder: {}", arguments_.output, failure.message());
  const FolderMark mark(
      arguments_.output, sweep_mark, sweep_mark_text,
      "another sweep is running in this folder; wait until it ends, or give another --output");
  note_interrupts();
  require_same_settings();
  std::vector<size_t> unfinished;
  for (size_t i = 0; i < table_.rows.size(); ++i) {
    if (!is_finished(*configs_[i], table_.rows[i].run)) {
      unfinished.push_back(i);
      continue;
    }
    log_info("{}: already trained", progress(i));
    attempt(i, [&] { evaluate(i); });
  }
  write_table();
  for (const size_t i : unfinished) {
    log_info("{}", progress(i));
    attempt(i, [&] {
      train_row(i);
      evaluate(i);
    });
    write_table();
  }
  report();
}

/// A run that was trained with other settings, in part or to its end, is neither the result of its recipe nor
/// can it become it.
void Sweep::require_same_settings() const {
  for (size_t i = 0; i < table_.rows.size(); ++i) {
    const std::string& run = table_.rows[i].run;
    const auto changed = changed_since_begun(*configs_[i], run);
    require(changed.empty(), "{}: was trained with other settings of {}; give another --output, or remove {}",
            run, join(changed), run);
  }
}

/// A failure is noted, so that the sweep goes on with the next recipe.
template <class Action>
void Sweep::attempt(size_t index, const Action& action) {
  SweepResult& row = table_.rows[index];
  try {
    action();
  } catch (const Cancelled&) {
    log_info("stopped at {}; the same command resumes there", progress(index));
    throw;
  } catch (const Error& error) {
    row.failure = error.what();
  } catch (const std::bad_alloc&) {
    row.failure = "out of memory; choose smaller batches (data.batch_tokens)";
  } catch (const std::exception& error) {
    row.failure = error.what();
  }
  if (!row.failure.empty()) log_warning("{} failed: {}", row.name, row.failure);
}

void Sweep::train_row(size_t index) {
  const TrainOutcome outcome = train(*configs_[index], {.run = table_.rows[index].run,
                                                        .resume = true,
                                                        .other_processor = arguments_.other_processor,
                                                        .fit = arguments_.fit,
                                                        .stop = &note_interrupts()});
  if (outcome.model.empty()) throw Cancelled();
}

void Sweep::evaluate(size_t index) {
  SweepResult& row = table_.rows[index];
  const RunResult result = read_run_result(row.run);
  row.updates = result.updates;
  row.model_update = result.model_update;
  row.validation = result.validation;
  row.seconds = result.seconds;
  row.precision = result.precision;
  row.parameters = parameter_count(load_model_config(row.run + "/model"));
  row.finished = true;
  if (!test_.source.empty()) row.test_score = test_score(index);
}

double Sweep::test_score(size_t index) const {
  const Translator translator(table_.rows[index].run + "/model",
                              {.threads = configs_[index]->training().train.threads});
  const StopOnInterrupt interrupt;
  TranslateOptions options;
  options.cancel = interrupt.token();
  const std::vector<std::string> translations = translator.translate(test_.source, options);
  return score_system(*sweep_test_metric().create({}), translations, {test_.reference}).score;
}

void Sweep::write_table() const {
  write_file_atomically(path("table.md"), sweep_markdown(table_));
  write_file_atomically(path("table.json"), sweep_json(table_));
  if (std::ranges::any_of(table_.rows, &SweepResult::finished))
    write_file_atomically(path("table.svg"), sweep_svg(table_));
  else
    std::filesystem::remove(path("table.svg"));  // that of other recipes
}

/// Prints the table, and throws if recipes failed, even if nobody reads the table.
void Sweep::report() const {
  std::vector<std::string> failed;
  for (const SweepResult& row : table_.rows)
    if (!row.finished || !row.failure.empty()) failed.push_back(row.name);
  try {
    TextOutput output("-");
    output.write(sweep_markdown(table_));
    output.close();
  } catch (const std::system_error&) {
    if (failed.empty()) throw;
  }
  if (!failed.empty())
    throw_environment_error("{} of {} failed: {}; {} says why", failed.size(),
                            counted(table_.rows.size(), "recipe"), join(failed), path("table.md"));
}

/// --set takes all arguments that follow it; those without "=" are recipes.
void find_recipes(SweepArguments& a) {
  const auto is_assignment = [](const std::string& word) { return word.find('=') != word.npos; };
  const auto recipes = std::stable_partition(a.assignments.begin(), a.assignments.end(), is_assignment);
  a.recipes.insert(a.recipes.end(), recipes, a.assignments.end());
  a.assignments.erase(recipes, a.assignments.end());
  require(!a.recipes.empty(),
          "no recipe is given; expected, for example: sixfold sweep recipes/table3/demo.yaml --output {}",
          a.output);
}

}  // namespace

void add_sweep(CLI::App& app, Tasks tasks) {
  const auto a = std::make_shared<SweepArguments>();
  CLI::App* command = app.add_subcommand("sweep", "Train several models, and compare them in a table");
  command
      ->add_option(
          "recipes", a->recipes,
          "training configs, lists of variants of one (with the keys base and rows), or folders of such "
          "files (required)")
      ->type_name("RECIPE");
  command
      ->add_option(
          "-o,--output", a->output,
          "folder of the sweep, new or made by an earlier one; each recipe has its run in the subfolder "
          "of its name, and table.md, table.json and table.svg compare them")
      ->type_name("DIR")
      ->required();
  const auto read_files = [a](const std::string& text) {
    const OptionNode node{.kind = OptionNode::Kind::assigned, .text = text};
    read_value(OptionSource{node, "--test", {}}, a->test);
  };
  command
      ->add_option_function<std::string>(
          "--test", read_files,
          "translate this source and compute BLEU with its reference, for each model; for translation models")
      ->type_name("SRC,REF");
  command->add_flag("--other-processor", a->other_processor,
                    "allow resuming on another instruction set; the results are then not bit for bit the same");
  command->add_flag("--fit", a->fit, "split batches into micro-batches that fit into memory");
  command
      ->add_option("--set", a->assignments,
                   "set keys of all recipes, e.g. data.train=a.en,a.de train.updates=500")
      ->type_name("KEY=VALUE")
      ->take_all();
  command->footer(
      "A recipe has the keys of a training config: see 'sixfold train --options', or man sixfold-train. A "
      "list\n"
      "of variants has the key base, a config or the path of one, and the key rows, which gives each variant "
      "a\n"
      "name and the keys that it changes:\n"
      "  base: recipes/demo.yaml\n"
      "  rows:\n"
      "    heads-1: {model.heads: 1}\n"
      "    heads-8: {model.heads: 8, train.updates: 5000}\n"
      "The same command resumes a sweep that was stopped: it skips recipes that have finished with the same\n"
      "settings, and resumes the others from their newest checkpoint. Other settings need another folder. The\n"
      "table compares the recipes that the command names; runs of others stay in the folder. A\n"
      "recipe that fails does not stop the others; the exit status is then 1. Scores of validation are those "
      "of the model that a run keeps.\n"
      "Example:\n  sixfold demo-corpus --output demo/corpus\n"
      "  sixfold sweep recipes/table3/demo.yaml --output runs/table3 --test "
      "demo/corpus/test.en,demo/corpus/test.de");
  command->callback([a, tasks] {
    find_recipes(*a);
    Sweep(*a, tasks).run();
  });
}

}  // namespace sixfold::cli
