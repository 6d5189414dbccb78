#include "train/sweep.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <set>
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
#include "program/kit/value_option.h"
#include "program/sweep_table.h"
#include "tasks/kit/size_choice.h"
#include "tasks/tasks.h"
#include "tasks/translation/task.h"
#include "tasks/translation/translator.h"
#include "train/run_conditions.h"
#include "train/run_result.h"
#include "train/trainer.h"

namespace sixfold::cli {
namespace {

struct SweepArguments {
  std::vector<std::string> recipes, assignments, test;
  std::string output;
  std::optional<int> seeds;
  ChosenNames may_differ;
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

/// A training of a recipe with one seed.
struct Training {
  size_t row, run;  ///< indices in the table
  std::unique_ptr<TaskConfig> config;
  bool finished = false;
  RunConditions conditions = {};
};

/// Trains the recipes that have not finished, one after the other, and writes the table after each.
class Sweep {
 public:
  Sweep(const SweepArguments& a, Tasks tasks);
  /// Throws `Cancelled` if it was interrupted, and an environment error if a recipe failed.
  void run();

 private:
  void add_trainings(SweepRow row, Tasks tasks);
  void add_chosen_sizes_to_changes();
  template <class Action>
  void attempt(const Training& training, const Action& action);
  void require_same_settings() const;
  void require_comparable();
  void require_alike(const Training& first, const Training& second);
  void train_run(Training& training);
  void evaluate(const Training& training);
  void require_tokens_in_test(const Training& training) const;
  SystemScore test_score(const Training& training) const;
  void compare_tests();
  void write_table();
  void report() const;
  SweepRun& run_of(const Training& training) { return table_.rows[training.row].runs[training.run]; }
  const SweepRun& run_of(const Training& training) const {
    return table_.rows[training.row].runs[training.run];
  }
  /// "recipe 2 of 5, heads-4", and the seed if there are several
  std::string progress(const Training& training) const {
    const SweepResult& row = table_.rows[training.row];
    return fmt::format("recipe {} of {}, {}{}", training.row + 1, table_.rows.size(), row.name,
                       row.runs.size() > 1 ? fmt::format(", seed {}", run_of(training).seed) : "");
  }
  std::string path(const std::string& name) const { return arguments_.output + "/" + name; }

  const SweepArguments& arguments_;
  std::set<std::string> folders_;    ///< of the runs, in that of the sweep
  std::vector<Training> trainings_;  ///< all rows with their first seeds, then all with their second, ...
  struct Row {
    OptionNode given;                       ///< the options of its recipe
    std::vector<std::string> chosen_sizes;  ///< from `choose_sizes`
  };
  std::vector<Row> rows_;
  TestText test_;
  SweepTable table_;
};

/// The target language of a model of several languages is selected by a token at the beginning of each source.
/// Throws an input error if a line of the test text does not begin with such a token.
void Sweep::require_tokens_in_test(const Training& training) const {
  const OptionNode options = training.config->options();
  const OptionNode* const languages = options.find_path("data.languages");
  if (!languages || languages->children.empty()) return;
  const auto begins = [&](const std::string& source) {
    return std::ranges::any_of(languages->children, [&](const auto& pair) {
      const auto known = language_pair(pair.second.text);
      return known && source.starts_with(target_token(known->target));
    });
  };
  for (size_t i = 0; i < test_.source.size(); ++i)
    require(
        test_.source[i].empty() || begins(test_.source[i]),
        "--test: {} trains a model of several languages (data.languages), so that each source must begin with "
        "the token of its target language, such as >>de<<; line {} does not",
        table_.rows[training.row].name, i + 1);
}

/// Reads and checks all inputs before anything is written.
Sweep::Sweep(const SweepArguments& a, Tasks tasks) : arguments_(a) {
  for (SweepRow& row : read_sweep(a.recipes, a.assignments)) add_trainings(std::move(row), tasks);
  add_chosen_sizes_to_changes();
  std::ranges::stable_sort(trainings_, {}, &Training::run);
  std::vector<std::string> runs;
  for (const Training& training : trainings_) runs.push_back(run_of(training).run);
  table_.title = fmt::format("{}: {}", a.output, counted(runs.size(), "training"));
  test_ = read_test(a.test);
  for (const Training& training : trainings_)
    require(a.test.empty() || training.config->task() == TranslationOptions::task_name,
            "--test: {} does not train a translation model, which BLEU is for; leave out --test",
            table_.rows[training.row].name);
  for (const Training& training : trainings_) require_tokens_in_test(training);
  if (!a.test.empty()) {
    table_.test_text = join(a.test);
    table_.signature = signature_of(*sweep_test_metric().create({}), 1);
  }
  require_new_or_sweep(a.output, runs);
  std::vector<std::string> inputs = a.recipes;
  inputs.insert(inputs.end(), a.test.begin(), a.test.end());
  for (const char* file : {"table.md", "table.json", "table.svg"}) require_output_file(path(file), inputs);
}

/// The run of the first seed has the folder of the row's name, so that a sweep can get more seeds later.
void Sweep::add_trainings(SweepRow row, Tasks tasks) {
  SweepResult& result = table_.rows.emplace_back();
  result.name = row.name;
  result.changes = row.changes;
  const int seeds = arguments_.seeds.value_or(row.seeds.value_or(1));
  uint64_t seed = 0;
  for (int i = 0; i < seeds; ++i) {
    OptionNode options = row.options;
    if (i > 0) set_option(options, fmt::format("train.seed={}", ++seed));
    const std::string name = i == 0 ? row.name : fmt::format("{}.seed-{}", row.name, seed);
    auto config = task_config_of(std::move(options), row.where, tasks, path(name));
    seed = config->training().train.seed;
    if (i == 0)
      rows_.push_back(
          {row.options, choose_sizes(row.options, find_task(config->task(), tasks)->sizes(), /*run=*/"")});
    require(folders_.insert(name).second,
            "{}: seed {} needs the folder {}, which another recipe has; rename one", row.where, seed,
            path(name));
    result.runs.push_back({.run = path(name), .seed = seed});
    trainings_.push_back(
        {.row = table_.rows.size() - 1, .run = static_cast<size_t>(i), .config = std::move(config)});
  }
}

/// Sizes that were chosen automatically, for a row or for the first one, are listed among the changes of the
/// row where they differ from those of the first.
void Sweep::add_chosen_sizes_to_changes() {
  const auto options_of = [&](size_t row) {
    return std::ranges::find(trainings_, row, &Training::row)->config->options();
  };
  const OptionNode first = options_of(0);
  for (size_t i = 1; i < rows_.size(); ++i) {
    const auto chosen = [&](const std::string& key) {
      const auto sets = [&](const std::string& assignment) { return assignment.starts_with(key + "="); };
      return !rows_[i].given.find_path(key) && (std::ranges::any_of(rows_[0].chosen_sizes, sets) ||
                                                std::ranges::any_of(rows_[i].chosen_sizes, sets));
    };
    OptionNode own = options_of(i);
    std::string& changes = table_.rows[i].changes;
    for (const std::string& key : differing_keys(first, own))
      if (const OptionNode* const value = own.find_path(key); value && chosen(key))
        changes += fmt::format("{}{} {}", changes.empty() ? "" : ", ", key, value_text(*value));
  }
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
  for (Training& training : trainings_) {
    training.finished = is_finished(*training.config, run_of(training).run);
    training.conditions = conditions_of(*training.config, run_of(training).run, training.finished);
  }
  require_comparable();
  for (const Training& training : trainings_) {
    if (!training.finished) continue;
    log_info("{}: already trained", progress(training));
    attempt(training, [&] { evaluate(training); });
  }
  write_table();
  for (Training& training : trainings_) {
    if (training.finished) continue;
    // Notices a training text that has changed since other rows were trained, before this row is trained.
    if (const std::string text = text_condition_of_new_run(*training.config); !text.empty())
      training.conditions.emplace(text_condition, text);  // no effect if the run has begun
    require_comparable();
    log_info("{}", progress(training));
    attempt(training, [&] {
      train_run(training);
      evaluate(training);
    });
    require_comparable();
    write_table();
  }
  report();
}

/// Throws an input error if a run was trained with other settings, even if only in part: it is not a result of
/// its recipe.
void Sweep::require_same_settings() const {
  for (const Training& training : trainings_) {
    const std::string& run = run_of(training).run;
    const auto changed = changed_since_begun(*training.config, run);
    require(changed.empty(), "{}: was trained with other settings of {}; give another --output, or remove {}",
            run, join(changed), run);
  }
}

/// Checks that the results can be compared: each row with the first row, and the trainings of a row with the
/// first of them.
void Sweep::require_comparable() {
  for (SweepResult& row : table_.rows) row.differences.clear();
  for (const Training& training : trainings_) {
    require_alike(trainings_[0], training);
    if (training.run > 0) require_alike(trainings_[training.row], training);
  }
}

/// Throws an input error if the results of two trainings differ for a reason that neither recipes nor
/// --may-differ state. Differences that --may-differ states are noted in the table.
void Sweep::require_alike(const Training& first, const Training& second) {
  for (const Condition* condition :
       unstated_differences(*first.config, first.conditions, *second.config, second.conditions)) {
    const std::string &one = first.conditions.find(condition->name)->second,
                      &other = second.conditions.find(condition->name)->second;
    const bool resumed_elsewhere = arguments_.other_processor && condition->name == instruction_set_condition;
    require(resumed_elsewhere || arguments_.may_differ.contains(condition->name),
            "{} and {} differ in {} ({}, and {}), which no recipe states, so that they can't be compared. "
            "{}emove the folder of one of them to train it again, or allow the difference: --may-differ {}",
            run_of(first).run, run_of(second).run, condition->title, one.empty() ? "nothing" : one,
            other.empty() ? "nothing" : other,
            condition->stated_by.empty()
                ? "R"
                : fmt::format("State it in the recipes ({}), r", join(condition->stated_by)),
            condition->name);
    std::string& noted = table_.rows[second.row].differences;
    const std::string text = fmt::format("{} {}", condition->name, other);
    if (noted.find(text) == std::string::npos) noted += (noted.empty() ? "" : ", ") + text;
  }
}

/// Runs an action for a training. An error is recorded and logged, so that the sweep continues with the next
/// recipe.
template <class Action>
void Sweep::attempt(const Training& training, const Action& action) {
  SweepRun& run = run_of(training);
  try {
    action();
  } catch (const Cancelled&) {
    log_info("stopped at {}; the same command resumes there", progress(training));
    throw;
  } catch (const Error& error) {
    run.failure = error.what();
  } catch (const std::bad_alloc&) {
    run.failure = "out of memory; choose smaller batches (data.batch_tokens)";
  } catch (const std::exception& error) {
    run.failure = error.what();
  }
  if (!run.failure.empty())
    log_warning("{} failed: {}", std::filesystem::path(run.run).filename().string(), run.failure);
}

void Sweep::train_run(Training& training) {
  const std::string& run = run_of(training).run;
  const TrainOutcome outcome = train(*training.config, {.run = run,
                                                        .resume = true,
                                                        .other_processor = arguments_.other_processor,
                                                        .fit = arguments_.fit,
                                                        .stop = &note_interrupts()});
  if (outcome.model.empty()) throw Cancelled();
  training.conditions = conditions_of(*training.config, run, /*finished=*/true);
}

void Sweep::evaluate(const Training& training) {
  SweepRun& run = run_of(training);
  const RunResult result = read_run_result(run.run);
  run.updates = result.updates;
  run.model_update = result.model_update;
  run.validation = result.validation;
  run.seconds = result.seconds;
  run.operations = result.operations;
  run.precision = result.precision;
  const ModelConfig model = load_model_config(run.run + "/model");
  run.tokenizer = model.source_tokenizer_hash + model.target_tokenizer_hash;
  run.validation_text = validation_text_of(*training.config);
  run.parameters = parameter_count(model);
  run.finished = true;
  if (!test_.source.empty()) run.test = test_score(training);
}

SystemScore Sweep::test_score(const Training& training) const {
  const Translator translator(run_of(training).run + "/model",
                              {.threads = training.config->training().train.threads});
  const StopOnInterrupt interrupt;
  TranslateOptions options;
  options.cancel = interrupt.token();
  const std::vector<std::string> translations = translator.translate(test_.source, options);
  const bool tested = std::ranges::any_of(
      table_.rows, [](const SweepResult& row) { return row.runs.size() >= min_compared_runs; });
  return score_system(*sweep_test_metric().create({}), translations, {test_.reference},
                      tested ? std::optional(BootstrapOptions()) : std::nullopt);
}

/// Tests the differences between the first row and each other row as soon as all of their trainings have test
/// scores.
void Sweep::compare_tests() {
  const auto scores_of = [](const SweepResult& row) {
    std::vector<SystemScore> scores;
    for (const SweepRun& run : row.runs)
      if (run.test) scores.push_back(*run.test);
    return scores;
  };
  const SweepResult& first = table_.rows[0];
  for (size_t i = 1; i < table_.rows.size(); ++i) {
    SweepResult& row = table_.rows[i];
    if (test_.source.empty() || row.test_difference || !first.testable() || !row.testable()) continue;
    const auto one = scores_of(first), other = scores_of(row);
    if (one.size() < first.runs.size() || other.size() < row.runs.size()) continue;
    row.test_difference = compare_systems(*sweep_test_metric().create({}), one, other);
  }
}

void Sweep::write_table() {
  compare_tests();
  write_file_atomically(path("table.md"), sweep_markdown(table_));
  write_file_atomically(path("table.json"), sweep_json(table_));
  if (std::ranges::any_of(trainings_, [&](const Training& t) { return run_of(t).finished; }))
    write_file_atomically(path("table.svg"), sweep_svg(table_));
  else
    std::filesystem::remove(path("table.svg"));  // a picture of other recipes
}

/// Prints the table, and throws an error if recipes failed, even if standard output is closed.
void Sweep::report() const {
  std::vector<std::string> failed;
  for (const Training& training : trainings_)
    if (const SweepRun& run = run_of(training); !run.finished || !run.failure.empty())
      failed.push_back(std::filesystem::path(run.run).filename().string());
  try {
    TextOutput output("-");
    output.write(sweep_markdown(table_));
    output.close();
  } catch (const std::system_error&) {
    if (failed.empty()) throw;
  }
  if (!failed.empty())
    throw_environment_error(
        "{} of {} failed: {}; {} says why", failed.size(),
        counted(trainings_.size(), trainings_.size() > table_.rows.size() ? "training" : "recipe"),
        join(failed), path("table.md"));
}

/// Moves recipes that follow --set: it takes all arguments after it, of which those without "=" are recipes.
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
      ->add_option("recipes", a->recipes,
                   "training configs, lists of variants of one (with the keys base, and rows or grid), or "
                   "folders of such "
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
  add_value_option(*command, "--seeds", a->seeds,
                   "number of trainings of each recipe, with the seeds train.seed, train.seed + 1, ... [what "
                   "the list of variants says, or 1]",
                   between(1, max_seeds));
  for (const Condition& condition : conditions()) a->may_differ.names.emplace_back(condition.name);
  add_value_option(*command, "--may-differ", a->may_differ,
                   "compare recipes although they differ in these conditions, which no recipe states");
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
      "name and the keys that it changes. The key grid gives keys lists of values, and makes a variant of "
      "each\n"
      "combination. The key seeds is the number of trainings of each variant:\n"
      "  base: recipes/demo.yaml\n"
      "  seeds: 3\n"
      "  rows:\n"
      "    heads-1: {model.heads: 1}\n"
      "    heads-8: {model.heads: 8, train.updates: 5000}\n"
      "  grid: {schedule.learning_rate: [1e-3, 3e-3], model.d_model: [128, 256]}\n"
      "With several seeds the table has means and standard deviations, and from three seeds on a star where a\n"
      "recipe differs significantly from the first: by Welch's t-test over the trainings and, for test "
      "scores,\n"
      "also by approximate randomization over the lines. Recipes are compared only if what they differ in is\n"
      "stated: a different precision, text or version of the program that no recipe names is an error.\n"
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
