#include "tasks/translation/least_risk.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "metrics/chrf.h"

namespace sixfold {

std::vector<size_t> by_risk(std::span<const LikelyText> texts, const std::function<void()>& between) {
  double largest = 0;
  for (size_t i = 0; i < texts.size(); ++i)
    largest = i == 0 ? texts[i].log_weight : std::max(largest, texts[i].log_weight);
  std::map<std::string, double> weights;  // of each text, which is compared once
  for (const LikelyText& one : texts) weights[one.text] += std::exp(one.log_weight - largest);
  std::vector<std::string> different;
  for (const auto& [text, weight] : weights) different.push_back(text);
  const std::vector<std::vector<double>> scores = chrf_of_each(different, between);
  std::map<std::string, double> gains;
  for (size_t i = 0; i < different.size(); ++i)
    for (size_t j = 0; j < different.size(); ++j) gains[different[i]] += weights[different[j]] * scores[i][j];
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return gains[texts[i].text]; });
  return order;
}

}  // namespace sixfold
