#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sixfold {

/// A candidate translation and the logarithm of its weight among the candidates.
struct WeightedText {
  std::string text;
  double log_weight = 0;
};

/// Minimum Bayes risk decoding (Kumar and Byrne 2004; with samples: Eikema and Aziz 2020). Returns the indices
/// of the texts in ascending order of their risk. The risk of a text is one minus the weighted mean of its chrF
/// with each of the texts as the reference. Texts of equal risk keep their order. `check_cancelled` is called
/// repeatedly during the computation, and may throw to end it.
std::vector<size_t> order_by_risk(
    std::span<const WeightedText> texts, const std::function<void()>& check_cancelled = [] {});

}  // namespace sixfold
