#include "tasks/kit/validation_metrics.h"

#include <algorithm>

#include "base/error.h"
#include "base/join.h"
#include "metrics/evaluation.h"

namespace sixfold {
ValidationScores::ValidationScores(MetricTable table, const std::vector<std::string>& names,
                                   const MetricOptions& options) {
  for (const MetricEntry& entry : table) {
    if (std::ranges::find(names, entry.name) == names.end()) continue;
    auto metric = entry.create(options);
    const MetricSums sums(*metric);
    rows_.push_back({&entry, std::move(metric), sums});
  }
}

bool ValidationScores::keeps_texts() const {
  return std::ranges::any_of(rows_, [](const Row& row) { return row.entry->scores_all_at_once; });
}

void ValidationScores::add(std::string_view output, std::span<const std::string> references,
                           bool exact_references, const std::string* source) {
  if (keeps_texts()) {
    outputs_.emplace_back(output);
    references_.resize(references.size());
    for (size_t k = 0; k < references.size(); ++k) references_[k].push_back(references[k]);
    if (source) sources_.push_back(*source);
  }
  for (Row& row : rows_) {
    if (row.entry->scores_all_at_once) continue;
    const bool never_equal = !exact_references && row.entry->compares_whole_lines;
    row.sums.add(output, never_equal ? std::span<const std::string>() : references);
  }
}

std::vector<double> ValidationScores::numbers_of(std::string_view output,
                                                 std::span<const std::string> references) const {
  std::vector<double> numbers;
  for (const Row& row : rows_) {
    MetricSums one(*row.metric);
    one.add(output, references);
    numbers.insert(numbers.end(), one.sums().begin(), one.sums().end());
  }
  return numbers;
}

void ValidationScores::add(std::span<const double> numbers) {
  for (Row& row : rows_) {
    const auto statistics = numbers.first(row.metric->size());
    row.sums.add(MetricStatistics{{statistics.begin(), statistics.end()}});
    numbers = numbers.subspan(statistics.size());
  }
}

size_t ValidationScores::size() const {
  size_t size = 0;
  for (const Row& row : rows_) size += row.metric->size();
  return size;
}

Scores ValidationScores::scores(Processes& processes) const {
  Scores scores;
  for (const Row& row : rows_) {
    double score = row.sums.score();
    if (row.entry->scores_all_at_once) {
      if (processes.is_root()) score = score_system(*row.metric, outputs_, references_, {}, sources_).score;
      score = processes.broadcast(score);
    }
    scores[std::string(row.entry->name)] = {score, row.entry->higher_is_better};
  }
  return scores;
}

MetricValidationOptions::MetricValidationOptions(LineContent content, std::string best, MetricTable metrics)
    : table(metrics),
      names(metric_names(metrics, content)),
      best_by{.name = std::move(best), .names = {"loss"}} {
  best_by.names.insert(best_by.names.end(), names.begin(), names.end());
}

void visit(OptionVisitor& v, MetricValidationOptions& o) {
  visit_interval(v, o);
  v.field("best_by", o.best_by,
          fmt::format("metric that decides which model is best: {}", join_words(o.best_by.names, "or")));
  visit_patience(v, o);
}

TextValidationOptions::TextValidationOptions(std::vector<std::string> standard_metrics,
                                             std::vector<std::string> chosen, MetricTable table)
    : MetricValidationOptions(LineContent::text, "loss", table),
      standard(std::move(standard_metrics)),
      metrics{.chosen = std::move(chosen), .names = {}} {
  metrics.names.assign(std::begin(scores_of_trainer), std::end(scores_of_trainer));
  metrics.names.insert(metrics.names.end(), names.begin(), names.end());
  best_by.names = metrics.names;
}

bool TextValidationOptions::generates() const {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return name == best_by.name || metrics.contains(name); });
}

ValidationScores TextValidationOptions::scores(const Tokenizer& tokenizer) const {
  std::vector<std::string> computed = standard;
  computed.insert(computed.end(), metrics.chosen.begin(), metrics.chosen.end());
  MetricOptions metric_options = options;
  // Text for a whitespace tokenizer is already tokenized.
  if (tokenizer.kind() == TokenizerKind::whitespace && metric_options.bleu.tokenizer == BleuTokenizer::v13a)
    metric_options.bleu.tokenizer = BleuTokenizer::none;
  return {table, computed, metric_options};
}

void TextValidationOptions::try_program(const std::vector<std::string>& references,
                                        const std::vector<std::string>& sources,
                                        const std::atomic<int>* stop) const {
  if (options.command.command.empty()) return;
  CommandMetricOptions program = options.command;
  program.stop = stop;
  score_system(CommandMetric(program), references, {references}, {}, sources);
}

void visit_text_validation(OptionVisitor& v, TextValidationOptions& o, std::string_view outputs) {
  visit_interval(v, o);
  v.field("metrics", o.metrics,
          fmt::format("metrics to compute: {}; {} need {}", join(o.metrics.names), join_words(o.names, "and"),
                      outputs));
  v.field("best_by", o.best_by, "metric that decides which model is best");
  visit_patience(v, o);
  v.field("beam_size", o.beam_size,
          fmt::format("beam size for {}; 1: greedy search", join_words(o.names, "and")), between(1, 1000));
  visit(v, o.options);
}

void validate_metrics(const TextValidationOptions& o) {
  require(o.metrics.contains(o.best_by.name) || !find_metric(o.table, o.best_by.name),  // loss and perplexity
          "validation.best_by: '{}' is not among validation.metrics", o.best_by.name);
  std::vector<const MetricEntry*> rows;
  for (const std::string& name : o.metrics.chosen)
    if (const MetricEntry* row = find_metric(o.table, name)) rows.push_back(row);
  if (o.generates())  // metrics that were not chosen must not cause errors
    for (const std::string& name : o.standard)
      if (const MetricEntry* row = find_metric(o.table, name); row && row->fixed_case.empty())
        rows.push_back(row);
  check_metric_options(o.options, rows, [](std::string_view key) { return fmt::format("validation.{}", key); });
  for (const MetricEntry* row : rows) row->create(o.options);  // throws if a file or a library is missing
}

}  // namespace sixfold
