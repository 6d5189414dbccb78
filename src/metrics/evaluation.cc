#include "metrics/evaluation.h"

#include "base/error.h"

namespace sixfold {

SystemScore score_system(const Metric& metric, std::span<const std::string> outputs,
                         const References& references, const std::optional<BootstrapOptions>& resampling) {
  require(!outputs.empty(), "there is no output to score");
  for (const std::vector<std::string>& one : references)
    require(one.size() == outputs.size(), "{} outputs and {} references; each output needs one", outputs.size(),
            one.size());
  std::vector<MetricStatistics> all;  // those of each output, if they are needed again
  std::vector<std::string> of_output(references.size());
  MetricSums sums(metric);
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t k = 0; k < references.size(); ++k) of_output[k] = references[k][i];
    MetricStatistics statistics = metric.statistics(outputs[i], of_output);
    sums.add(statistics);
    if (resampling) all.push_back(std::move(statistics));
  }
  SystemScore result{.score = sums.score(), .details = sums.details()};
  if (resampling)
    result.samples = bootstrap(std::ssize(all), *resampling, [&](std::span<const uint32_t> drawn) {
      MetricSums sample(metric);
      for (const uint32_t output : drawn) sample.add(all[output]);
      return sample.score();
    });
  return result;
}

SystemDifference compare_systems(const SystemScore& first, const SystemScore& second) {
  const double difference = second.score - first.score;
  return {.difference = difference,
          .p_value = paired_p_value(first.samples, second.samples, difference),
          .same_samples = first.samples == second.samples};
}

std::string signature_of(const Metric& metric, size_t references,
                         const std::optional<BootstrapOptions>& resampling) {
  std::string text = fmt::format("nrefs:{}", references);
  if (resampling) text += fmt::format("|bs:{}|seed:{}", resampling->samples, resampling->seed);
  if (const std::string settings = metric.settings(); !settings.empty()) text += "|" + settings;
  return text + "|version:sixfold-" SIXFOLD_VERSION;
}

}  // namespace sixfold
