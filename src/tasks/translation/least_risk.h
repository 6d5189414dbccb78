#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sixfold {

/// A text that a model may write, with the logarithm of its weight among others.
struct LikelyText {
  std::string text;
  double log_weight = 0;
};

/// The places of texts in the order of their risk, the least first: 1 less the mean of the chrF of a text with
/// each of the texts as its reference, by their weights (minimum Bayes risk: Kumar and Byrne 2004; with
/// samples: Eikema and Aziz 2020). Of texts with equal risks the first comes first. `between` is called again
/// and again, and may throw to end it.
std::vector<size_t> by_risk(
    std::span<const LikelyText> texts, const std::function<void()>& between = [] {});

}  // namespace sixfold
