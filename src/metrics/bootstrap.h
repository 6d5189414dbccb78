#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/api.h"

namespace sixfold {

/// Options of bootstrap resampling (Koehn 2004, "Statistical Significance Tests for Machine Translation
/// Evaluation"): many corpora are drawn, with replacement, from the sentences of one corpus and scored.
struct BootstrapOptions {
  int samples = 1000;
  uint64_t seed = 12345;
};

/// Draws samples and returns the score of each. `score` gets the numbers of the drawn sentences, from 0 to
/// `sentences` - 1 with repetitions. The same seed draws the same sentences, so that systems are compared on
/// the same samples; sacreBLEU draws the same sentences with this seed. Throws an input error if there are no
/// sentences.
SIXFOLD_API std::vector<double> bootstrap(int64_t sentences, const BootstrapOptions& options,
                                          const std::function<double(std::span<const uint32_t>)>& score);

/// The mean of the samples, and half the width of the interval that contains the middle 95 % of them.
struct Confidence {
  double mean = 0, half_width = 0;
};
SIXFOLD_API Confidence confidence(std::vector<double> samples);

/// The p-value of sacreBLEU's paired bootstrap test for the difference of two systems' scores on the whole
/// corpus: the share of samples (with one added to both counts) whose absolute difference exceeds the mean
/// absolute difference by more than `difference`. Both systems must have samples of the same seed. If they
/// score the same in every sample, the result is the smallest possible value and has no meaning.
SIXFOLD_API double paired_p_value(std::span<const double> first, std::span<const double> second,
                                  double difference);

}  // namespace sixfold
