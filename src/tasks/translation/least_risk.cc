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
  std::map<std::string, size_t> places;  // of each text among the different ones, which are compared once
  std::vector<std::string> different;
  std::vector<double> weights;
  for (const LikelyText& one : texts) {
    const auto [place, is_new] = places.emplace(one.text, different.size());
    if (is_new) different.push_back(one.text), weights.push_back(0);
    weights[place->second] += std::exp(one.log_weight - largest);
  }
  const std::vector<std::vector<double>> scores = chrf_of_each(different, between);
  const auto gain = [&](size_t i) {
    const size_t place = places.at(texts[i].text);
    return std::inner_product(weights.begin(), weights.end(), scores[place].begin(), 0.0);
  };
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), gain);
  return order;
}

}  // namespace sixfold
