#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sixfold {

/// Bootstrap resampling (Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation"): the
/// score of many corpora drawn, with replacement, from the sentences of one.
struct BootstrapOptions {
  int samples = 1000;
  uint64_t seed = 12345;
};

/// For each sample, the score of the sentences (from 0 to `sentences` - 1, some of them several times) that
/// were drawn for it. The same seed draws the same sentences, so that two systems are compared on the same
/// ones; they are those that sacreBLEU draws with this seed.
std::vector<double> bootstrap(int64_t sentences, const BootstrapOptions& options,
                              const std::function<double(std::span<const uint32_t>)>& score);

/// A mean and half the width of the interval that holds the middle 95 % of the samples.
struct Confidence {
  double mean = 0, half_width = 0;
};
Confidence confidence(std::vector<double> samples);

/// The p-value that sacreBLEU's paired bootstrap test gives the difference of two systems' scores on the whole
/// corpus: the share of samples, one added, whose absolute difference exceeds the mean absolute difference by
/// more than `difference`. Both have samples of the same seed. Two systems that score the same in every sample
/// get the smallest value there is.
double paired_p_value(std::span<const double> first, std::span<const double> second, double difference);

}  // namespace sixfold
