#include "metrics/metrics.h"

#include <algorithm>

#include "base/error.h"
#include "metrics/answers.h"
#include "metrics/classification.h"
#include "metrics/exact_match.h"

namespace sixfold {
namespace {

std::unique_ptr<Metric> bleu_of(const MetricOptions& options) {
  BleuOptions bleu = options.bleu;
  bleu.lowercase = options.lowercase;
  return std::make_unique<Bleu>(bleu);
}

std::unique_ptr<Metric> chrf_of(const MetricOptions& options) {
  ChrfOptions chrf = options.chrf;
  chrf.lowercase = options.lowercase;
  return std::make_unique<Chrf>(chrf);
}

std::unique_ptr<Metric> chrf_plus_plus_of(MetricOptions options) {
  options.chrf.word_order = 2;
  return chrf_of(options);
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
     .explanation = "n-grams of words that translation and references share",
     .settings = "bleu.",
     .create = bleu_of},
    {.name = "chrf",
     .title = "chrF2",
     .explanation = "n-grams of characters that they share, with recall weighted twice",
     .settings = "chrf.",
     .create = chrf_of},
    {.name = "chrf++",
     .title = "chrF2++",
     .explanation = "the same with words and pairs of words",
     .settings = "chrf.",
     .create = [](const MetricOptions& options) { return chrf_plus_plus_of(options); }},
    {.name = "ter",
     .title = "TER",
     .explanation = "edits and shifts of words that make a reference of a translation, in percent of its words",
     .settings = "ter.",
     .higher_is_better = false,
     .create = [](const MetricOptions& options) -> std::unique_ptr<Metric> {
       return std::make_unique<Ter>(options.ter);
     }},
    {.name = "exact_match",
     .title = "exact match",
     .explanation = "percent of lines that equal a reference",
     .fixed_case = "exact_match compares lines as they are",
     .compares_whole_lines = true,
     .create = plain<ExactMatch>},
    {.name = "command",
     .title = "command",
     .explanation = "mean of what the program of metric_command prints for each line",
     .fixed_case = "a program gets lines as they are",
     .scores_all_at_once = true,
     .settings = "metric_",
     .create = [](const MetricOptions& options) -> std::unique_ptr<Metric> {
       return std::make_unique<CommandMetric>(options.command);
     }},
    {.name = "accuracy",
     .title = "accuracy",
     .explanation = "percent of labels that are right",
     .content = LineContent::label,
     .fixed_case = labels_are_fixed,
     .create = plain<Accuracy>},
    {.name = "macro_f1",
     .title = "macro F1",
     .explanation = "mean of the F1 scores of all labels, in percent",
     .content = LineContent::label,
     .fixed_case = labels_are_fixed,
     .create = [](const MetricOptions& options) -> std::unique_ptr<Metric> {
       return std::make_unique<MacroF1>(options.labels);
     }},
    {.name = "squad_exact_match",
     .title = "exact match",
     .explanation = "percent of answers that equal a right one, as SQuAD's script compares them",
     .content = LineContent::answer,
     .fixed_case = answers_are_fixed,
     .create = plain<SquadExactMatch>},
    {.name = "squad_f1",
     .title = "F1",
     .explanation = "mean F1 score of the words of answers, in percent, as SQuAD's script computes it",
     .content = LineContent::answer,
     .fixed_case = answers_are_fixed,
     .create = plain<SquadF1>}};

}  // namespace

void visit(OptionVisitor& v, MetricOptions& o) {
  v.field("lowercase", o.lowercase, "ignore case");
  v.group("bleu", o.bleu, "settings of BLEU");
  v.group("chrf", o.chrf, "settings of chrF");
  v.group("ter", o.ter, "settings of TER");
  visit(v, o.command);
}

void check_metric_options(const MetricOptions& options, std::span<const MetricEntry* const> rows,
                          const SettingName& named) {
  for (const std::string& key : differing_keys(write_options(options), write_options(MetricOptions{})))
    require(key == "lowercase" || std::ranges::any_of(rows,
                                                      [&](const MetricEntry* row) {
                                                        return !row->settings.empty() &&
                                                               key.starts_with(row->settings);
                                                      }),
            "{}: none of the metrics that are computed has this setting; leave it out, or add the metric",
            named(key));
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(rows, [&](const MetricEntry* row) { return row->name == name; });
  };
  for (const MetricEntry* row : rows)
    require(!options.lowercase || row->fixed_case.empty(), "{}: {}; leave it out with the metric {}",
            named("lowercase"), row->fixed_case, row->name);
  require(!options.lowercase || !options.ter.case_sensitive, "{} and {} contradict each other; leave one out",
          named("lowercase"), named("ter.case_sensitive"));
  require(!options.ter.asian_support || options.ter.normalized || options.ter.no_punct,
          "{}: has an effect only with {} or {}", named("ter.asian_support"), named("ter.normalized"),
          named("ter.no_punct"));
  require(!has("chrf++") || options.chrf.word_order == 0 || options.chrf.word_order == 2,
          "{}: is 2 in the metric chrf++; choose chrf instead", named("chrf.word_order"));
  const BleuSmoothing smoothing = options.bleu.smoothing;
  require(!options.bleu.smooth_value || smoothing == BleuSmoothing::floor || smoothing == BleuSmoothing::add_k,
          "{} applies only to the smoothing floor and add-k, not to {}", named("bleu.smooth_value"),
          name_of_enum(smoothing));
}

void Metric::for_each_statistics(const MetricLines& lines,
                                 const std::function<void(MetricStatistics)>& use) const {
  for (const std::vector<std::string>& one : lines.references)
    require(one.size() == lines.outputs.size(), "{} outputs and {} references; each output needs one",
            lines.outputs.size(), one.size());
  std::vector<std::string> of_output(lines.references.size());
  for (size_t i = 0; i < lines.outputs.size(); ++i) {
    for (size_t k = 0; k < of_output.size(); ++k) of_output[k] = lines.references[k][i];
    use(statistics(lines.outputs[i], of_output));
  }
}

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
