#include "tasks/translation/minimum_bayes_risk.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "metrics/chrf.h"

namespace sixfold {

std::vector<size_t> order_by_risk(std::span<const WeightedText> texts,
                                  const std::function<void()>& check_cancelled) {
  double largest = 0;
  for (size_t i = 0; i < texts.size(); ++i)
    largest = i == 0 ? texts[i].log_weight : std::max(largest, texts[i].log_weight);
  std::map<std::string, size_t> indices;  // of each text among the distinct ones
  std::vector<std::string> distinct;
  std::vector<double> weights;
  for (const WeightedText& one : texts) {
    const auto [found, is_new] = indices.emplace(one.text, distinct.size());
    if (is_new) distinct.push_back(one.text), weights.push_back(0);
    weights[found->second] += std::exp(one.log_weight - largest);
  }
  const std::vector<std::vector<double>> scores = chrf_of_each(distinct, check_cancelled);
  const auto gain = [&](size_t i) {
    const size_t index = indices.at(texts[i].text);
    return std::inner_product(weights.begin(), weights.end(), scores[index].begin(), 0.0);
  };
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), gain);
  return order;
}

}  // namespace sixfold
