#include "metrics/evaluation.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace sixfold {

SystemScore score_system(const Metric& metric, std::span<const std::string> outputs,
                         const References& references, const std::optional<BootstrapOptions>& resampling,
                         std::span<const std::string> sources) {
  require(!outputs.empty(), "there is no output to score");
  std::vector<MetricStatistics> all;  // the statistics of each output, if they are needed for samples
  MetricSums sums(metric);
  metric.for_each_statistics({outputs, references, sources, resampling.has_value()},
                             [&](MetricStatistics statistics) {
                               sums.add(statistics);
                               if (resampling) all.push_back(std::move(statistics));
                             });
  SystemScore result{.score = sums.score(), .details = sums.details()};
  if (resampling)
    result.samples = bootstrap(std::ssize(all), *resampling, [&](std::span<const uint32_t> drawn) {
      MetricSums sample(metric);
      for (const uint32_t output : drawn) sample.add(all[output]);
      return sample.score();
    });
  result.statistics = std::move(all);
  return result;
}

std::vector<double> scores_of(std::span<const SystemScore> runs) {
  std::vector<double> scores;
  for (const SystemScore& run : runs) scores.push_back(run.score);
  return scores;
}

std::vector<double> mean_samples(std::span<const SystemScore> runs) {
  std::vector<double> means = runs[0].samples;
  for (const SystemScore& run : runs.subspan(1))
    for (size_t i = 0; i < means.size(); ++i) means[i] += run.samples[i];
  for (double& mean : means) mean /= static_cast<double>(runs.size());
  return means;
}

namespace {

/// Computes the scores of two systems after they have swapped some of their outputs.
class SwappedOutputs {
 public:
  SwappedOutputs(const Metric& metric, const SystemScore& first, const SystemScore& second)
      : metric_(metric), outputs_(std::ssize(first.statistics)), first_(metric), second_(metric) {
    std::vector<double> more(
        metric.size());  // what an output of the second system adds, less that of the first
    for (size_t i = 0; i < first.statistics.size(); ++i) {
      const MetricStatistics &one = first.statistics[i], &other = second.statistics[i];
      first_.add(one);
      second_.add(other);
      for (size_t k = 0; k < one.amounts.size(); ++k) more[place(one, k)] -= one.amounts[k];
      for (size_t k = 0; k < other.amounts.size(); ++k) more[place(other, k)] += other.amounts[k];
      for (const MetricStatistics* statistics : {&one, &other})
        for (size_t k = 0; k < statistics->amounts.size(); ++k)
          if (double& change = more[place(*statistics, k)]; change != 0)
            changes_.push_back({place(*statistics, k), std::exchange(change, 0)});
      ends_.push_back(changes_.size());
    }
  }

  /// The score of the second system less that of the first.
  double difference(const std::vector<bool>& swapped) const {
    std::vector<double> first(first_.sums().begin(), first_.sums().end()),
        second(second_.sums().begin(), second_.sums().end());
    std::vector<double> all(first.size());
    for (size_t i = 0, change = 0; i < ends_.size(); ++i) {
      if (swapped[i])
        for (; change < ends_[i]; ++change) all[changes_[change].place] += changes_[change].amount;
      change = ends_[i];
    }
    for (size_t k = 0; k < all.size(); ++k) first[k] += all[k], second[k] -= all[k];
    return metric_.score(second, outputs_) - metric_.score(first, outputs_);
  }

 private:
  struct Change {
    size_t place;
    double amount;
  };

  static size_t place(const MetricStatistics& statistics, size_t k) {
    return statistics.places.empty() ? k : statistics.places[k];
  }

  const Metric& metric_;
  int64_t outputs_;
  MetricSums first_, second_;
  std::vector<Change> changes_;  ///< the changes of the sums by swapping each output, without those that are 0
  std::vector<size_t> ends_;     ///< for each output, the end of its changes in `changes_`
};

}  // namespace

SystemDifference compare_systems(const Metric& metric, std::span<const SystemScore> first,
                                 std::span<const SystemScore> second, const RandomizationOptions& options) {
  const std::vector<double> first_scores = scores_of(first), second_scores = scores_of(second);
  const size_t sentences = first[0].statistics.size();
  std::vector<SwappedOutputs> pairs;
  for (size_t run = 0; run < std::min(first.size(), second.size()); ++run)
    pairs.emplace_back(metric, first[run], second[run]);
  const auto shuffled_difference = [&](const std::vector<bool>& swapped) {
    double sum = 0;
    for (const SwappedOutputs& pair : pairs) sum += pair.difference(swapped);
    return sum;
  };
  SystemDifference found{.difference = mean_of(second_scores) - mean_of(first_scores),
                         .sentences_p = randomization_p_value(sentences, options, shuffled_difference),
                         .runs_p = welch_p_value(first_scores, second_scores)};
  found.bootstrap_p = paired_p_value(mean_samples(first), mean_samples(second), found.difference);
  const bool one_run = first.size() == 1 && second.size() == 1;
  if (one_run || found.runs_p) found.p_value = std::max(found.sentences_p, found.runs_p.value_or(0));
  return found;
}

std::string signature_of(const Metric& metric, size_t references,
                         const std::optional<BootstrapOptions>& resampling) {
  std::string text = fmt::format("nrefs:{}", references);
  if (resampling) text += fmt::format("|bs:{}|seed:{}", resampling->samples, resampling->seed);
  if (const std::string settings = metric.settings(); !settings.empty()) text += "|" + settings;
  return text + "|version:sixfold-" SIXFOLD_VERSION;
}

}  // namespace sixfold
