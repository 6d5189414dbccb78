#include "data/check/shuffled_targets.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/hash.h"
#include "data/check/pair_faults.h"
#include "text/words.h"

namespace sixfold {
namespace {

constexpr size_t fewest_pairs = 1000;

/// The half of the sample to which a pair belongs: the same for all pairs of a source.
size_t half_of(const LinePair& pair) {
  const std::string text = as_compared(pair.first);
  return hash_of(std::as_bytes(std::span(text)), 7) % 2;
}

/// As many pairs of a sample, evenly spread, as have some ten million pairs of words.
std::vector<LinePair> some_of(std::span<const LinePair> sample) {
  constexpr size_t most_products = 10'000'000;
  size_t products = 0;
  for (const auto& [source, target] : sample)
    products += std::min<size_t>(60, count_words(source)) * std::min<size_t>(60, count_words(target));
  const size_t step = products / most_products + 1;
  std::vector<LinePair> some;
  for (size_t i = 0; i < sample.size(); i += step) some.push_back(sample[i]);
  return some;
}

/// The share of sorted values that are at most `value`.
double share_up_to(const std::vector<double>& sorted, double value) {
  return static_cast<double>(std::ranges::upper_bound(sorted, value) - sorted.begin()) /
         static_cast<double>(sorted.size());
}

/// The evidence up to which targets are taken for shuffled, from that of pairs as they are and of pairs that
/// were put together at random; nothing if most of the former are like the latter.
std::optional<double> threshold_of(std::vector<double> as_it_is, std::vector<double> at_random) {
  constexpr double most_shuffled = 0.5, most_lost = 1.0 / 500;
  std::ranges::sort(as_it_is);
  std::ranges::sort(at_random);
  const auto quantile = [&](double part) {
    return at_random[static_cast<size_t>(part * static_cast<double>(at_random.size() - 1))];
  };
  double shuffled = 1;  // at most this share
  for (int part = 10; part < 20; ++part)
    shuffled = std::min(shuffled, share_up_to(as_it_is, quantile(0.05 * part)) / (0.05 * part));
  if (shuffled > most_shuffled) return {};
  double threshold = -std::numeric_limits<double>::infinity();
  for (const double value : as_it_is) {
    const double lost = share_up_to(as_it_is, value) - shuffled * share_up_to(at_random, value);
    if (value > quantile(0.95) || lost > most_lost * (1 - shuffled)) break;
    threshold = value;
  }
  return threshold;
}

}  // namespace

ShuffledTargets::ShuffledTargets(std::span<const LinePair> sample, ThreadPool& threads,
                                 const std::atomic<int>* stop) {
  const std::vector<LinePair> pairs = some_of(sample);
  std::vector<LinePair> forward[2], backward[2];
  for (const LinePair& pair : pairs) {
    forward[half_of(pair)].push_back(pair);
    backward[half_of(pair)].emplace_back(pair.second, pair.first);
  }
  if (std::min(forward[0].size(), forward[1].size()) < fewest_pairs / 2) return;
  threads.run(4, [&](int64_t task, int) {
    Half& half = halves_[task / 2];
    (task % 2 == 0 ? half.forward : half.backward)
        .emplace(task % 2 == 0 ? forward[task / 2] : backward[task / 2], stop);
  });
  std::vector<double> as_it_is(pairs.size()), at_random(pairs.size());
  for (size_t half = 0, done = 0; half < 2; ++half) {
    std::vector<LinePair>& judged = forward[half];
    // Neighbours have targets of about the same length.
    std::ranges::stable_sort(judged, {}, [](const LinePair& pair) { return pair.second.size(); });
    threads.run(std::ssize(judged), [&](int64_t task, int) {
      if (stop && stop->load() != 0) throw Cancelled();
      const auto i = static_cast<size_t>(task);
      as_it_is[done + i] = evidence(judged[i], half);
      at_random[done + i] = evidence({judged[i].first, judged[(i + 1) % judged.size()].second}, half);
    });
    done += judged.size();
  }
  threshold_ = threshold_of(std::move(as_it_is), std::move(at_random));
}

double ShuffledTargets::evidence(const LinePair& pair, size_t judged_half) const {
  const auto& [forward, backward] = halves_[1 - judged_half];
  const WordTranslations::Words source = forward->source_words(pair.first),
                                target = forward->target_words(pair.second);
  return forward->evidence(source, target) + backward->evidence(target, source);
}

bool ShuffledTargets::contain(const LinePair& pair) const {
  return threshold_ && evidence(pair, half_of(pair)) <= *threshold_;
}

}  // namespace sixfold
