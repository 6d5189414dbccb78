#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/join.h"
#include "base/plural.h"
#include "metrics/metrics.h"
#include "model_folder/ownership.h"
#include "program/commands.h"
#include "program/evaluated_text.h"
#include "program/evaluation_report.h"
#include "program/kit/interrupt.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "program/rated_lines.h"

namespace sixfold {

namespace cli {
enum class ReportFormat { text, json };
}  // namespace cli

template <>
struct EnumNames<cli::ReportFormat> {
  static constexpr std::pair<cli::ReportFormat, std::string_view> names[] = {{cli::ReportFormat::text, "text"},
                                                                             {cli::ReportFormat::json, "json"}};
};

namespace cli {
namespace {

/// The options for the settings of BLEU.
const std::vector<std::pair<std::string_view, std::string>> bleu_options{
    {"tokenize", "--tokenize"},
    {"spm_model", "--spm-model"},
    {"smooth_method", "--smooth"},
    {"smooth_value", "--smooth-value"},
    {"max_ngram_order", "--bleu-max-ngram-order"},
    {"effective_order", "--bleu-effective-order"}};

struct EvaluateSettings {
  std::string hypothesis = "-";
  std::vector<std::string> others;
  EvaluatedFiles files;
  ChosenNames metrics;
  MetricOptions options;
  bool confidence = false, sentence_level = false, score_only = false;
  BootstrapOptions bootstrap;
  int trials = RandomizationOptions().trials;
  ReportFormat format = ReportFormat::text;
  int width = 1;

  std::optional<BootstrapOptions> resampling() const {
    return confidence || !others.empty() ? std::optional(bootstrap) : std::nullopt;
  }
  RandomizationOptions randomization() const { return {.trials = trials, .seed = bootstrap.seed}; }
};

/// The runs of a system, separated by commas, which may also belong to the name of a file.
System runs_of(const std::string& text) {
  std::error_code failure;
  if (std::filesystem::exists(text, failure)) return {text};
  System runs = CLI::detail::split(text, ',');
  for (const std::string& run : runs) require(!run.empty(), "'{}': a file between commas has no name", text);
  return runs;
}

/// Throws an input error if a file is given twice, which would compare a system with itself.
void require_different_files(const std::vector<System>& systems) {
  std::vector<std::string> files;
  for (const System& system : systems)
    for (const std::string& file : system) {
      for (const std::string& other : files)
        require(file == "-" || other == "-" || !is_same_file(file, other),
                "{} and {} are the same file; name each output once", text_name(other), text_name(file));
      files.push_back(file);
    }
}

EvaluationReport evaluate(const MetricEntry& row, const EvaluateSettings& settings,
                          const EvaluatedText& lines) {
  require(row.content != LineContent::label || lines.references.size() == 1,
          "--metric {}: there are {}, but a text has one label", row.name,
          counted(lines.references.size(), "reference"));
  const EvaluatedText text = compared_parts(lines, row.content);
  MetricOptions options = settings.options;
  if (row.content == LineContent::label) {
    std::set<std::string> labels(text.references[0].begin(), text.references[0].end());
    for (const auto& runs : text.systems)
      for (const auto& outputs : runs) labels.insert(outputs.begin(), outputs.end());
    options.labels.assign(labels.begin(), labels.end());
  }
  const auto metric = row.create(options);
  const std::string name = metric->name();
  EvaluationReport report{name.empty() ? std::string(row.name) : name,
                          signature_of(*metric, text.references.size(), settings.resampling()),
                          {},
                          {},
                          {}};
  for (const auto& runs : text.systems) {
    auto& scores = report.systems.emplace_back();
    for (const auto& outputs : runs) {
      if (settings.sentence_level)
        metric->for_each_statistics(
            {outputs, text.references, text.sources, true}, [&](const MetricStatistics& statistics) {
              MetricSums line(*metric);
              line.add(statistics);
              report.lines.push_back({.score = line.score(), .details = line.details()});
            });
      else
        scores.push_back(score_system(*metric, outputs, text.references, settings.resampling(), text.sources));
      check_interrupt();
    }
  }
  for (size_t i = 1; i < report.systems.size(); ++i)
    report.differences.push_back(
        compare_systems(*metric, report.systems[0], report.systems[i], settings.randomization()));
  return report;
}

/// The command-line option for a setting of metrics.
std::string option_of(std::string_view key) {
  for (const auto& [field, option] : bleu_options)
    if (key == fmt::format("bleu.{}", field)) return option;
  std::string option = "--" + std::string(key);
  std::ranges::replace_if(
      option, [](char c) { return c == '.' || c == '_'; }, '-');
  return option;
}

/// Sets the rows from the names of metrics, and throws an input error if options contradict each other.
void choose_metrics(EvaluateSettings& settings) {
  MetricOptions& options = settings.options;
  require(!settings.metrics.chosen.empty(), "--metric: name at least one metric");
  std::vector<std::string> names = settings.metrics.chosen;
  if (!options.command.command.empty()) names.emplace_back("command");
  for (const std::string& name : names)
    if (const MetricEntry* row = &metric_named(name); std::ranges::count(settings.files.rows, row) == 0)
      settings.files.rows.push_back(row);
  const auto chosen = [&](std::string_view name) {
    return std::ranges::count(settings.files.rows, &metric_named(name)) > 0;
  };
  // Single sentences often lack n-grams of the highest order. sacreBLEU does the same.
  if (settings.sentence_level && chosen("bleu")) options.bleu.effective_order = true;
  MetricOptions checked = options;
  if (!chosen("bleu")) {  // other metrics have always accepted these options
    checked.bleu.tokenizer = {};
    checked.bleu.smoothing = {};
  }
  check_metric_options(checked, settings.files.rows, option_of);
  require(settings.files.source.empty() || chosen("command"), "--source: is read by --metric-command alone");
  if (chosen("command")) options.command.stop = &note_interrupts();
}

/// Throws an input error if options for the form of the report contradict each other.
void check_form(const EvaluateSettings& settings, const std::vector<System>& systems) {
  const bool one_run = systems.size() == 1 && systems[0].size() == 1;
  const bool json = settings.format == ReportFormat::json;
  require(!settings.files.line_confidence || (one_run && settings.files.compares_only(LineContent::text)),
          "--line-confidence is for the translations of one system; leave out --compare and further runs, and "
          "metrics of labels and answers");
  require(
      !settings.sentence_level || (one_run && settings.files.rows.size() == 1),
      "--sentence-level prints the scores of one system by one metric; leave out --compare, further runs, and "
      "further metrics");
  require(!settings.sentence_level || !settings.confidence,
          "--sentence-level and --confidence: a single line has no interval; leave one out");
  require(!settings.sentence_level || !settings.files.line_confidence,
          "--sentence-level and --line-confidence contradict each other; leave one out");
  require(!settings.score_only || one_run,
          "--score-only is for one system; leave out --compare and further runs");
  require(!settings.score_only || !json, "--score-only is for --format text");
  require(!settings.score_only || !settings.files.line_confidence,
          "--score-only and --line-confidence contradict each other; leave one out");
}

void run(EvaluateSettings& settings) {
  choose_metrics(settings);
  std::vector<std::string> names{settings.hypothesis};
  names.insert(names.end(), settings.others.begin(), settings.others.end());
  std::vector<System> systems;
  for (const std::string& name : names) systems.push_back(runs_of(name));
  check_form(settings, systems);
  auto standard_inputs =
      std::ranges::count(settings.files.references, "-") + (settings.files.source == "-" ? 1 : 0);
  for (const System& system : systems) standard_inputs += std::ranges::count(system, "-");
  require(standard_inputs <= 1,
          "--reference, --hypothesis (unless it is given) and --compare can't both be standard input");
  require_different_files(systems);
  const EvaluatedText text = read_texts(settings.files, systems);
  std::vector<EvaluationReport> reports;
  for (const MetricEntry* row : settings.files.rows) reports.push_back(evaluate(*row, settings, text));
  std::optional<ConfidenceReport> rated;
  if (text.rated) rated = confidence_report(*text.rated, text.references);
  for (std::string& name : names) name = text_name(name);
  const EvaluationForm form{.systems = names,
                            .resampling = settings.resampling(),
                            .randomization = settings.randomization(),
                            .width = settings.width,
                            .score_only = settings.score_only};
  TextOutput output("-");
  output.write(settings.format == ReportFormat::json ? evaluation_json(reports, form, rated)
                                                     : evaluation_text(reports, form, rated));
  output.close();
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto settings = std::make_shared<EvaluateSettings>();
  CLI::App& command = *app.add_subcommand("evaluate",
                                          "Compute BLEU, chrF and TER of translations, as sacreBLEU does, the "
                                          "accuracy of labels, or the agreement of answers, as "
                                          "SQuAD's script does");
  command
      .add_option(
          "-r,--reference", settings->files.references,
          "file of reference translations; several files give several references for each line; for answers "
          "also JSON of SQuAD, with a JSON object of answers by id as hypothesis")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--hypothesis", settings->hypothesis,
                  "file of translations to score; - is standard input. Files separated by commas are runs of a "
                  "system, such as trainings with different seeds, of which the mean is scored")
      ->type_name("FILE")
      ->capture_default_str();
  command
      .add_option("--compare", settings->others,
                  "files of translations by other systems, to test whether they differ from the first")
      ->type_name("FILE");
  add_invalid_utf8_option(command, settings->files.invalid);
  command.add_flag("--confidence", settings->confidence,
                   "print the mean and 95 % confidence interval of each score, by bootstrap resampling");
  command.add_flag(
      "--line-confidence", settings->files.line_confidence,
      "the hypotheses are the output of 'sixfold translate --confidence --format jsonl': print how "
      "well the confidence of each line tells its chrF");
  add_value_option(command, "--samples", settings->bootstrap.samples, "number of bootstrap samples",
                   between(1, 1'000'000));
  add_value_option(command, "--trials", settings->trials, "number of trials of the randomization test",
                   between(1, 1'000'000));
  add_value_option(command, "--seed", settings->bootstrap.seed, "random seed of both");
  settings->metrics = {.chosen = {"bleu", "chrf"}, .names = {}};
  for (const MetricEntry& row : metric_table()) settings->metrics.names.emplace_back(row.name);
  const auto named = [](LineContent content) { return join(metric_names(metric_table(), content)); };
  add_value_option(
      command, "--metric", settings->metrics,
      fmt::format("{}, or several separated by commas; for labels, the beginnings of lines up to "
                  "a tab: {}; for answers, the ends of reference lines after a tab and the beginnings "
                  "of the others: {}; described below",
                  named(LineContent::text), named(LineContent::label), named(LineContent::answer)));
  MetricOptions& options = settings->options;
  command.add_flag("--lowercase", options.lowercase, "ignore case");
  add_field_options(command, OptionVisitor::AnyOptions(options.bleu),
                    {.flags = bleu_options, .switches = true});
  command.get_option("--spm-model")->type_name("FILE");
  add_field_options(command, OptionVisitor::AnyOptions(options.chrf), {.prefix = "chrf-", .switches = true});
  add_field_options(command, OptionVisitor::AnyOptions(options.ter), {.prefix = "ter-", .switches = true});
  add_field_options(command, OptionVisitor::AnyOptions(options.command));
  command
      .add_option("--source", settings->files.source,
                  "file of the source text, which --metric-command reads as well")
      ->type_name("FILE");
  command.add_flag("--sentence-level", settings->sentence_level,
                   "print a score for each line, by one metric, instead of one for all");
  command.add_flag("--score-only", settings->score_only, "print the numbers alone");
  add_value_option(command, "--format", settings->format, "text or json");
  add_value_option(command, "-w,--width", settings->width, "digits after the decimal point of a score",
                   between(0, 15))
      ->type_name("DIGITS");
  std::string described = "Metrics:\n";
  for (const MetricEntry& row : metric_table())
    described += fmt::format("  {:<19}{}\n", row.name, row.explanation);
  command.footer(
      described +
      "The signature of a score contains the version of this program instead of sacreBLEU's. Intervals equal\n"
      "those of sacreBLEU's paired bootstrap (--paired-bs) with the same seed. The p-value is that of its\n"
      "approximate randomization (--paired-ar), but trials in which the difference is the same count too. "
      "JSON\n"
      "also has the p-value of the paired bootstrap, which is too small for systems that are alike.\n"
      "A star marks systems that differ significantly from the first, by Holm's method for all comparisons.\n"
      "Example:\n  sixfold translate model --input test.en | sixfold evaluate --reference test.de");
  command.callback([settings, &command] {
    const auto given = [&](const char* option) { return command.count(option) > 0; };
    require(!given("--metric-command") || !settings->options.command.command.empty(),
            "--metric-command: names no program");
    for (const char* option : {"--samples", "--seed"})
      require(!given(option) || settings->resampling(),
              "{} has no effect without --confidence or --compare; add one of them", option);
    require(!given("--trials") || !settings->others.empty(),
            "--trials has no effect without --compare; add it");
    run(*settings);
  });
}

}  // namespace cli
}  // namespace sixfold
