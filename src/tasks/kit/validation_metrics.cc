#include "tasks/kit/validation_metrics.h"

#include <algorithm>

#include "base/error.h"
#include "base/join.h"

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

void ValidationScores::add(std::string_view output, std::span<const std::string> references,
                           bool known_to_the_letter) {
  for (Row& row : rows_) {
    const bool no_equal = !known_to_the_letter && row.entry->compares_whole_lines;
    row.sums.add(output, no_equal ? std::span<const std::string>() : references);
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
    const auto own = numbers.first(row.metric->size());
    row.sums.add(MetricStatistics{{own.begin(), own.end()}});
    numbers = numbers.subspan(own.size());
  }
}

size_t ValidationScores::size() const {
  size_t size = 0;
  for (const Row& row : rows_) size += row.metric->size();
  return size;
}

Scores ValidationScores::scores() const {
  Scores scores;
  for (const Row& row : rows_)
    scores[std::string(row.entry->name)] = {row.sums.score(), row.entry->higher_is_better};
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

TextValidationOptions::TextValidationOptions(std::vector<std::string> usual_metrics,
                                             std::vector<std::string> chosen, MetricTable table)
    : MetricValidationOptions(LineContent::text, "loss", table),
      usual(std::move(usual_metrics)),
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
  std::vector<std::string> computed = usual;
  computed.insert(computed.end(), metrics.chosen.begin(), metrics.chosen.end());
  MetricOptions options;
  // Text for a whitespace tokenizer is tokenized already.
  if (tokenizer.kind() == TokenizerKind::whitespace) options.bleu.tokenizer = BleuTokenizer::none;
  return {table, computed, options};
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
}

void validate_metrics(const TextValidationOptions& o) {
  require(o.metrics.contains(o.best_by.name), "validation.best_by: '{}' is not among validation.metrics",
          o.best_by.name);
}

}  // namespace sixfold
