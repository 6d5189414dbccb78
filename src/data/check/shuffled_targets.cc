#include "data/check/shuffled_targets.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/hash.h"
#include "data/check/pair_faults.h"
#include "text/words.h"

namespace sixfold {
namespace {

constexpr size_t min_sample_pairs = 1000;

/// The half of the sample to which a pair belongs: the same for all pairs of a source.
size_t half_of(const LinePair& pair) {
  const std::string text = comparison_form(pair.first);
  return hash_of(std::as_bytes(std::span(text)), 7) % 2;
}

/// An evenly spread subset of the sample with at most about ten million pairs of words.
std::vector<LinePair> subsample(std::span<const LinePair> sample) {
  constexpr size_t max_products = 10'000'000;
  size_t products = 0;
  for (const auto& [source, target] : sample)
    products += std::min<size_t>(60, count_words(source)) * std::min<size_t>(60, count_words(target));
  const size_t step = products / max_products + 1;
  std::vector<LinePair> result;
  for (size_t i = 0; i < sample.size(); i += step) result.push_back(sample[i]);
  return result;
}

/// The share of sorted values that are at most `value`.
double share_up_to(const std::vector<double>& sorted, double value) {
  return static_cast<double>(std::ranges::upper_bound(sorted, value) - sorted.begin()) /
         static_cast<double>(sorted.size());
}

/// The evidence up to which targets count as shuffled, from the evidence of the actual pairs and of randomly
/// combined pairs. Nothing if most actual pairs are like random ones.
std::optional<double> threshold_of(std::vector<double> actual, std::vector<double> random) {
  constexpr double max_shuffled = 0.5, max_lost = 1.0 / 500, max_lost_of_many = 1.0 / 100;
  std::ranges::sort(actual);
  std::ranges::sort(random);
  const auto quantile = [&](double part) {
    return random[static_cast<size_t>(part * static_cast<double>(random.size() - 1))];
  };
  double shuffled = 1;  // an upper bound of the share of shuffled pairs
  for (int part = 10; part < 20; ++part)
    shuffled = std::min(shuffled, share_up_to(actual, quantile(0.05 * part)) / (0.05 * part));
  if (shuffled > max_shuffled) return {};
  // The greatest threshold at which the matching pairs that are lost seem to be few. Where many pairs are
  // shuffled, that estimate varies more than the limit: then also a greater threshold at which losing a
  // matching pair, weighed ten times, costs less than keeping shuffled ones.
  constexpr double weight_of_loss = 10;
  double by_loss = -std::numeric_limits<double>::infinity(), by_cost = by_loss, least_cost = shuffled;
  for (const double value : actual) {
    if (value > quantile(0.95)) break;
    const double found = share_up_to(random, value), lost = share_up_to(actual, value) - shuffled * found;
    if (lost <= max_lost * (1 - shuffled)) by_loss = value;
    const double cost = weight_of_loss * lost + shuffled * (1 - found);
    if (cost < least_cost && lost <= max_lost_of_many * (1 - shuffled)) least_cost = cost, by_cost = value;
  }
  return std::max(by_loss, by_cost);
}

}  // namespace

ShuffledTargets::ShuffledTargets(std::span<const LinePair> sample, ThreadPool& threads,
                                 const std::atomic<int>* stop) {
  const std::vector<LinePair> pairs = subsample(sample);
  std::vector<LinePair> forward[2], backward[2];
  for (const LinePair& pair : pairs) {
    forward[half_of(pair)].push_back(pair);
    backward[half_of(pair)].emplace_back(pair.second, pair.first);
  }
  if (std::min(forward[0].size(), forward[1].size()) < min_sample_pairs / 2) return;
  threads.run(4, [&](int64_t task, int) {
    Half& half = halves_[task / 2];
    (task % 2 == 0 ? half.forward : half.backward)
        .emplace(task % 2 == 0 ? forward[task / 2] : backward[task / 2], stop);
  });
  std::vector<double> actual(pairs.size()), random(pairs.size());
  for (size_t half = 0, done = 0; half < 2; ++half) {
    std::vector<LinePair>& tested = forward[half];
    // Neighbours have targets of about the same length.
    std::ranges::stable_sort(tested, {}, [](const LinePair& pair) { return pair.second.size(); });
    threads.run(std::ssize(tested), [&](int64_t task, int) {
      throw_if_stopped(stop);
      const auto i = static_cast<size_t>(task);
      actual[done + i] = evidence(tested[i], half);
      random[done + i] = evidence({tested[i].first, tested[(i + 1) % tested.size()].second}, half);
    });
    done += tested.size();
  }
  threshold_ = threshold_of(std::move(actual), std::move(random));
}

double ShuffledTargets::evidence(const LinePair& pair, size_t tested_half) const {
  const auto& [forward, backward] = halves_[1 - tested_half];
  const WordTranslations::Words source = forward->source_words(pair.first),
                                target = forward->target_words(pair.second);
  return forward->evidence(source, target) + backward->evidence(target, source);
}

bool ShuffledTargets::is_shuffled(const LinePair& pair) const {
  return threshold_ && evidence(pair, half_of(pair)) <= *threshold_;
}

}  // namespace sixfold
