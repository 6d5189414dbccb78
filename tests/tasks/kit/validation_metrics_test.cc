#include "tasks/kit/validation_metrics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "backend/backend.h"
#include "base/file.h"
#include "error_message.h"
#include "metrics/toy_metric.h"
#include "parallel_text.h"
#include "tasks/tasks.h"
#include "tasks/translation/task.h"
#include "temporary_folder.h"
#include "train/run_result.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

/// A small training with ten pairs for validation.
TranslationOptions small_training(const TemporaryFolder& folder, MetricTable table = metric_table()) {
  write_parallel_text(folder / "train.a", folder / "train.b", 50, 1);
  write_parallel_text(folder / "valid.a", folder / "valid.b", 10, 2);
  TranslationOptions options;
  options.validation = TranslationValidationOptions(table);
  options.model = ModelOptions(Preset::tiny);
  options.tokenizer.kind = TokenizerKind::whitespace;
  options.tokenizer.vocab_size = 0;
  options.data.train = {folder / "train.a", folder / "train.b"};
  options.data.valid = {folder / "valid.a", folder / "valid.b"};
  options.train.updates = 2;
  options.validation.every_updates = 1;
  return options;
}

/// A run is validated with a metric that the library does not have, and keeps the model that it finds best.
TEST(ValidationMetrics, TakeARowOfAnotherTable) {
  const TemporaryFolder folder;
  const std::vector<MetricEntry> table = table_with_length_error();
  TranslationOptions options = small_training(folder, table);
  options.validation.metrics.chosen = {"loss", "length_error"};
  options.validation.best_by.name = "length_error";
  const TrainOutcome outcome = train(TranslationConfig(options), {.run = folder / "run"});
  const RunResult result = read_run_result(folder / "run");
  ASSERT_TRUE(result.validation.contains("length_error")) << outcome.model;
  EXPECT_GE(result.validation.at("length_error"), 0);
  EXPECT_TRUE(result.validation.contains("bleu")) << "which validation reports whenever it translates";
  EXPECT_FALSE(result.validation.contains("exact_match"));
}

/// A program gets sources, translations and references, and may decide which model is best.
TEST(ValidationMetrics, AreThoseOfAProgram) {
  const TemporaryFolder folder;
  TranslationOptions options = small_training(folder);
  options.validation.metrics.chosen = {"command", "ter"};
  options.validation.best_by.name = "command";
  options.validation.options.command.command =
      R"(tee )" + (folder / "seen") + R"( | grep -c '^{"source":"..*","output":".*","references":\["..*"\]}$')";
  train(TranslationConfig(options), {.run = folder / "run"});
  const RunResult result = read_run_result(folder / "run");
  EXPECT_EQ(result.validation.at("command"), 10);
  EXPECT_GT(result.validation.at("ter"), 0);
  const std::string targets = read_file(folder / "valid.b"), first = targets.substr(0, targets.find('\n'));
  expect_holds(read_file(folder / "seen"), "\"references\":[\"" + first + "\"]}");
}

/// What is wrong with a program is found before the first update.
TEST(ValidationMetrics, TryAProgramBeforeTheTraining) {
  const TemporaryFolder folder;
  TranslationOptions options = small_training(folder);
  options.validation.metrics.chosen = {"loss", "command"};
  options.validation.options.command.command = "echo 1; exit 7";
  options.validation.every_updates = 0;
  expect_holds(error_message([&] { train(TranslationConfig(options), {.run = folder / "run"}); }),
               "'echo 1; exit 7' ended with status 7");
  const std::string begun = folder / "begun";
  options.validation.options.command = {.command = "echo > " + begun + "; sleep 30; echo 1", .timeout = 20};
  std::atomic<int> stop{0};
  const std::jthread stopper([&] {
    while (!std::filesystem::exists(begun)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop = 1;
  });
  EXPECT_EQ(train(TranslationConfig(options), {.run = folder / "run", .stop = &stop}).updates, 0);
}

TEST(ValidationMetrics, RefuseSettingsThatNoneOfThemHas) {
  const TemporaryFolder folder;
  TranslationOptions options = small_training(folder);
  options.validation.options.ter.normalized = true;
  const auto refusal = [&] { return error_message([&] { validate(options); }); };
  expect_holds(refusal(), "validation.ter.normalized: none of the metrics that are computed has this setting");
  options.validation.metrics.chosen.push_back("ter");
  validate(options);
  options.validation.options.bleu.max_ngram_order = 2;
  validate(options);  // since validation reports BLEU whenever it translates
  options.validation.metrics.chosen.push_back("command");
  expect_holds(refusal(), "the metric command needs a program: give metric_command");
}

/// Captions are always compared as a whole too, whatever their case.
TEST(ValidationMetrics, MayIgnoreCaseUnlessACaseIsChosen) {
  TextValidationOptions captions({"exact_match", "bleu"}, {"loss"}, metric_table());
  captions.options.lowercase = true;
  captions.metrics.chosen = {"loss", "bleu"};
  validate_metrics(captions);
  captions.metrics.chosen.push_back("exact_match");
  expect_holds(error_message([&] { validate_metrics(captions); }), "leave it out with the metric exact_match");
}

TEST(ValidationMetrics, AreThoseOfTheTableForTheKindOfOutputs) {
  const std::vector<MetricEntry> table = table_with_length_error();
  const TextValidationOptions texts({}, {}, table);
  EXPECT_EQ(texts.metrics.names, (std::vector<std::string>{"loss", "perplexity", "bleu", "chrf", "chrf++",
                                                           "ter", "exact_match", "command", "length_error"}));
  const MetricValidationOptions labels(LineContent::label, "accuracy", table);
  EXPECT_EQ(labels.best_by.names, (std::vector<std::string>{"loss", "accuracy", "macro_f1"}));
}

/// A reference whose words the vocabulary lacks equals nothing, but shares words.
TEST(ValidationMetrics, DoNotFindAnUnknownReferenceEqual) {
  ValidationScores scores(metric_table(), {"exact_match", "bleu"}, {});
  const std::vector<std::string> reference{"one two three four"};
  scores.add("one two three four", reference);
  scores.add("one two three four", reference, /*exact_references=*/false);
  const Scores found = scores.scores();
  EXPECT_EQ(found.at("exact_match").value, 50);
  EXPECT_DOUBLE_EQ(found.at("bleu").value, 100);
}

TEST(ValidationMetrics, AddNumbersOfOtherProcesses) {
  ValidationScores at_once(metric_table(), {"squad_exact_match", "squad_f1"}, {}),
      by_numbers = {metric_table(), {"squad_exact_match", "squad_f1"}, {}};
  const std::vector<std::string> reference{"a red cat"};
  for (const char* output : {"red cat", "cat", "dog"}) {
    at_once.add(output, reference);
    by_numbers.add(by_numbers.numbers_of(output, reference));
  }
  EXPECT_EQ(by_numbers.size(), 2u);
  for (const auto& [name, score] : at_once.scores()) EXPECT_EQ(by_numbers.scores().at(name).value, score.value);
}

}  // namespace
}  // namespace sixfold
