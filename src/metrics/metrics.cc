#include "metrics/metrics.h"

#include <algorithm>

#include "base/error.h"
#include "metrics/answers.h"
#include "metrics/chrf.h"
#include "metrics/classification.h"
#include "metrics/exact_match.h"

namespace sixfold {
namespace {

std::unique_ptr<Metric> bleu_of(const MetricOptions& options) {
  BleuOptions bleu = options.bleu;
  bleu.lowercase = options.lowercase;
  return std::make_unique<Bleu>(bleu);
}

template <int word_order>
std::unique_ptr<Metric> chrf_of(const MetricOptions& options) {
  return std::make_unique<Chrf>(ChrfOptions{.word_order = word_order, .lowercase = options.lowercase});
}

/// A metric without settings.
template <class M>
std::unique_ptr<Metric> plain(const MetricOptions& /*options*/) {
  return std::make_unique<M>();
}

constexpr std::string_view labels_are_fixed = "labels are compared as they are";
constexpr std::string_view answers_are_fixed = "case never counts in answers";

constexpr MetricEntry table[] = {
    {.name = "bleu",
     .title = "BLEU",
     .report = "BLEU",
     .explanation = "n-grams of words that translation and references share",
     .create = bleu_of},
    {.name = "chrf",
     .title = "chrF2",
     .report = "chrF2",
     .explanation = "n-grams of characters that they share, with recall weighted twice",
     .create = chrf_of<0>},
    {.name = "chrf++",
     .title = "chrF2++",
     .report = "chrF2++",
     .explanation = "the same with words and pairs of words",
     .create = chrf_of<2>},
    {.name = "exact_match",
     .title = "exact match",
     .report = "exact_match",
     .explanation = "percent of lines that equal a reference",
     .fixed_case = "exact_match compares lines as they are",
     .compares_whole_lines = true,
     .create = plain<ExactMatch>},
    {.name = "accuracy",
     .title = "accuracy",
     .report = "accuracy",
     .explanation = "percent of labels that are right",
     .content = LineContent::label,
     .fixed_case = labels_are_fixed,
     .create = plain<Accuracy>},
    {.name = "macro_f1",
     .title = "macro F1",
     .report = "macro_f1",
     .explanation = "mean of the F1 scores of all labels, in percent",
     .content = LineContent::label,
     .fixed_case = labels_are_fixed,
     .create = [](const MetricOptions& options) -> std::unique_ptr<Metric> {
       return std::make_unique<MacroF1>(options.labels);
     }},
    {.name = "squad_exact_match",
     .title = "exact match",
     .report = "squad_exact_match",
     .explanation = "percent of answers that equal a right one, as SQuAD's script compares them",
     .content = LineContent::answer,
     .fixed_case = answers_are_fixed,
     .create = plain<SquadExactMatch>},
    {.name = "squad_f1",
     .title = "F1",
     .report = "squad_f1",
     .explanation = "mean F1 score of the words of answers, in percent, as SQuAD's script computes it",
     .content = LineContent::answer,
     .fixed_case = answers_are_fixed,
     .create = plain<SquadF1>}};

}  // namespace

void MetricSums::add(const MetricStatistics& statistics) {
  const std::span<const double> amounts = statistics.amounts;
  const std::span<double> sums = sums_;
  if (statistics.places.empty())
    for (size_t i = 0; i < amounts.size(); ++i) sums[i] += amounts[i];
  else
    for (size_t i = 0; i < amounts.size(); ++i) sums[statistics.places[i]] += amounts[i];
  ++outputs_;
}

MetricSums& MetricSums::operator+=(const MetricSums& other) {
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  outputs_ += other.outputs_;
  return *this;
}

MetricTable metric_table() { return table; }

const MetricEntry* find_metric(MetricTable metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &MetricEntry::name);
  return found == metrics.end() ? nullptr : &*found;
}

const MetricEntry& metric_named(std::string_view name) {
  const MetricEntry* const found = find_metric(table, name);
  require(found != nullptr, "there is no metric '{}'", name);
  return *found;
}

std::vector<std::string> metric_names(MetricTable metrics, LineContent content) {
  std::vector<std::string> names;
  for (const MetricEntry& entry : metrics)
    if (entry.content == content) names.emplace_back(entry.name);
  return names;
}

double score_of_output(const Metric& metric, std::string_view output, std::span<const std::string> references) {
  MetricSums sums(metric);
  sums.add(output, references);
  return sums.score();
}

}  // namespace sixfold
