#include "metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "metrics/pcg64.h"

namespace sixfold {

std::vector<double> bootstrap(int64_t sentences, const BootstrapOptions& options,
                              const std::function<double(std::span<const uint32_t>)>& score) {
  require(sentences >= 1 && sentences <= UINT32_MAX, "bootstrap: {} sentences; there must be at least one",
          sentences);
  require(options.samples >= 1, "bootstrap: {} samples; there must be at least one", options.samples);
  std::vector<double> scores;
  std::vector<uint32_t> drawn(static_cast<size_t>(sentences));
  Pcg64 random(options.seed);
  for (int sample = 0; sample < options.samples; ++sample) {
    for (uint32_t& sentence : drawn) sentence = random.below(static_cast<uint32_t>(sentences));
    scores.push_back(score(drawn));
  }
  return scores;
}

Confidence confidence(std::vector<double> samples) {
  require(!samples.empty(), "bootstrap: a confidence interval needs at least one sample");
  std::sort(samples.begin(), samples.end());
  const size_t outside = samples.size() / 40;  // 2.5 % at each end
  const double mean =
      std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  return {mean, (samples[samples.size() - 1 - outside] - samples[outside]) / 2};
}

double paired_p_value(std::span<const double> first, std::span<const double> second, double difference) {
  require(first.size() == second.size() && !first.empty(),
          "bootstrap: the systems have {} and {} samples; they must have the same number, at least one",
          first.size(), second.size());
  std::vector<double> differences;
  for (size_t i = 0; i < first.size(); ++i) differences.push_back(std::abs(second[i] - first[i]));
  const auto samples = static_cast<double>(differences.size());
  const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) / samples;
  const auto further =
      std::ranges::count_if(differences, [&](double sample) { return sample - mean > std::abs(difference); });
  return static_cast<double>(further + 1) / (samples + 1);
}

}  // namespace sixfold
