#include "data/word_aligner.h"

#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/threads.h"

namespace sixfold {
namespace {

/// Added to each count before counts are normalized to probabilities, so that pairs of words that were never
/// linked keep a small probability.
constexpr double count_smoothing = 1e-6;

/// A word in folded case and without the punctuation around it. A word that is only punctuation keeps it.
std::string normalized_word(std::string_view word) {
  icu::UnicodeString text = icu::UnicodeString::fromUTF8({word.data(), static_cast<int32_t>(word.size())});
  text.foldCase();
  int32_t begin = 0, end = text.length();
  const auto is_punctuation = [&](int32_t place) {
    const UChar32 c = text.char32At(place);
    return !u_isalnum(c) && (U_GET_GC_MASK(c) & U_GC_M_MASK) == 0;
  };
  while (begin < end && is_punctuation(begin)) begin = text.moveIndex32(begin, 1);
  while (end > begin && is_punctuation(text.moveIndex32(end, -1))) end = text.moveIndex32(end, -1);
  std::string result;
  return (begin < end ? text.tempSubStringBetween(begin, end) : text).toUTF8String(result);
}

}  // namespace

/// The posterior probabilities of the links of one pair. Matrices are [source, target].
struct WordAligner::Posteriors {
  std::vector<size_t> places;
  std::vector<float> products;          // the products of the posteriors of both directions
  std::vector<float> sources, targets;  // the posteriors that a word has no link
  std::array<Distances, 2> distances;
};

/// The model of one direction for one pair. It links each of the `to` words with one of the `from` words, or
/// with none.
class WordAligner::Direction {
 public:
  Direction(size_t from, size_t to, double unlinked)
      : from_(from), to_(to), unlinked_(static_cast<float>(unlinked)) {
    emission.resize(from_ * to_);
    unlinked_emission.resize(to_);
    posterior.resize(from_ * to_);
    unlinked_posterior.resize(to_);
  }

  std::vector<float> emission;  // [to, from]
  std::vector<float> unlinked_emission;
  std::vector<float> posterior;
  std::vector<float> unlinked_posterior;

  void run_model_one() {
    const float share = (1 - unlinked_) / static_cast<float>(from_);
    for (size_t j = 0; j < to_; ++j) {
      float sum = unlinked_ * unlinked_emission[j];
      for (size_t i = 0; i < from_; ++i) sum += share * emission[j * from_ + i];
      const float scale = sum > 0 ? 1 / sum : 0;
      for (size_t i = 0; i < from_; ++i) posterior[j * from_ + i] = share * emission[j * from_ + i] * scale;
      unlinked_posterior[j] = unlinked_ * unlinked_emission[j] * scale;
    }
  }

  /// The forward-backward algorithm. A state without a link keeps the position of the last link.
  void run_markov(const Distances& distances, Distances& counts) {
    const auto bucket = [](std::ptrdiff_t distance) {
      return static_cast<size_t>(std::clamp<std::ptrdiff_t>(distance, -max_distance, max_distance) +
                                 max_distance);
    };
    std::vector<float> step(from_ * from_), start(from_);  // step[i0 * from + i]
    const auto fill = [&](float* row, std::ptrdiff_t place) {
      double sum = 0;
      for (size_t i = 0; i < from_; ++i) sum += distances[bucket(static_cast<std::ptrdiff_t>(i) - place)];
      for (size_t i = 0; i < from_; ++i)
        row[i] = static_cast<float>((1 - unlinked_) *
                                    distances[bucket(static_cast<std::ptrdiff_t>(i) - place)] / sum);
    };
    fill(start.data(), -1);
    for (size_t i = 0; i < from_; ++i) fill(&step[i * from_], static_cast<std::ptrdiff_t>(i));
    std::vector<float> linked(from_ * to_), free(from_ * to_), place(from_), after(from_, 1.0f), next(from_);
    for (size_t j = 0; j < to_; ++j) {
      float* real = &linked[j * from_];
      float* none = &free[j * from_];
      const float* e = &emission[j * from_];
      if (j == 0) {
        for (size_t i = 0; i < from_; ++i) {
          real[i] = start[i];
          none[i] = unlinked_ * unlinked_emission[0] / static_cast<float>(from_);
        }
      } else {
        const size_t before = (j - 1) * from_;
        for (size_t i = 0; i < from_; ++i) place[i] = linked[before + i] + free[before + i];
        std::fill(real, real + from_, 0.0f);
        for (size_t i0 = 0; i0 < from_; ++i0)
          for (size_t i = 0; i < from_; ++i) real[i] += place[i0] * step[i0 * from_ + i];
        for (size_t i = 0; i < from_; ++i) none[i] = unlinked_ * unlinked_emission[j] * place[i];
      }
      float sum = 0;
      for (size_t i = 0; i < from_; ++i) sum += (real[i] *= e[i]) + none[i];
      const float scale = sum > 0 ? 1 / sum : 0;
      for (size_t i = 0; i < from_; ++i) {
        real[i] *= scale;
        none[i] *= scale;
      }
    }
    for (size_t j = to_; j-- > 0;) {
      const float* real = &linked[j * from_];
      const float* none = &free[j * from_];
      float sum = 0;
      for (size_t i = 0; i < from_; ++i) sum += (real[i] + none[i]) * after[i];
      const float scale = sum > 0 ? 1 / sum : 0;
      unlinked_posterior[j] = 0;
      for (size_t i = 0; i < from_; ++i) {
        posterior[j * from_ + i] = real[i] * after[i] * scale;
        unlinked_posterior[j] += none[i] * after[i] * scale;
      }
      if (j == 0) break;
      // The backward step: after(i0) is the sum over i of step(i0, i) e(i) after(i), plus the probability of no
      // link at the same position.
      for (size_t i = 0; i < from_; ++i) next[i] = emission[j * from_ + i] * after[i];
      const size_t before = (j - 1) * from_;
      float largest = 0, total = 0;
      for (size_t i0 = 0; i0 < from_; ++i0) {
        float reached = 0;
        for (size_t i = 0; i < from_; ++i) reached += step[i0 * from_ + i] * next[i];
        place[i0] = reached + unlinked_ * unlinked_emission[j] * after[i0];
        total += (linked[before + i0] + free[before + i0]) * place[i0];
        largest = std::max(largest, place[i0]);
      }
      if (total > 0)
        for (size_t i0 = 0; i0 < from_; ++i0) {
          const float here = (linked[before + i0] + free[before + i0]) / total;
          if (here > 1e-6f)
            for (size_t i = 0; i < from_; ++i)
              counts[bucket(static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(i0))] +=
                  static_cast<double>(here * step[i0 * from_ + i] * next[i]);
        }
      for (size_t i = 0; i < from_; ++i) after[i] = largest > 0 ? place[i] / largest : 0;
    }
    for (size_t i = 0; i < from_; ++i)
      counts[bucket(static_cast<std::ptrdiff_t>(i) + 1)] += static_cast<double>(posterior[i]);
  }

 private:
  size_t from_, to_;
  float unlinked_;
};

void WordAligner::Side::add(std::string_view line, std::span<const TextRange> words) {
  std::vector<int32_t> numbers;
  for (const TextRange& word : words)
    numbers.push_back(ids.try_emplace(normalized_word(line.substr(word.begin, word.end - word.begin)),
                                      static_cast<int32_t>(ids.size()))
                          .first->second);
  lines.add(numbers);
}

bool WordAligner::add(std::string_view source, std::string_view target) {
  std::vector<TextRange> sources = word_ranges(source), targets = word_ranges(target);
  const bool too_long = sources.size() > max_words || targets.size() > max_words;
  if (too_long) sources.clear(), targets.clear();
  source_.add(source, sources);
  target_.add(target, targets);
  return !too_long;
}

void WordAligner::align(const std::function<void(const WordLinks&)>& receive) {
  for (Distances& distances : distances_)
    for (size_t k = 0; k < distances.size(); ++k)
      distances[k] = std::exp(-std::abs(static_cast<double>(k) - max_distance - 1) / 2);
  collect_word_pairs();
  for (const Model model : {Model::one, Model::markov})
    for (int i = 0; i < options_.iterations; ++i) train_iteration(model);
  const auto min_product = static_cast<float>(options_.threshold * options_.threshold);
  for_each_pair(Model::markov, [&](int64_t i, const Posteriors& posteriors) {
    WordLinks links;
    const size_t n = target_[i].size();
    for (size_t k = 0; k < posteriors.products.size(); ++k)
      if (posteriors.products[k] >= min_product) links.emplace_back(k / n, k % n);
    receive(links);
  });
}

void WordAligner::check_stop() const { throw_if_stopped(options_.stop); }

void WordAligner::collect_word_pairs() {
  struct Row {
    std::vector<int32_t> ids;
    size_t unique_count = 0;
    void make_unique() {
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      unique_count = ids.size();
    }
  };
  const size_t sources = source_.ids.size(), targets = target_.ids.size();
  std::vector<Row> rows(sources);
  for (int64_t i = 0; i < source_.lines.size(); ++i) {
    check_stop();
    for (const int32_t s : source_[i]) {
      Row& row = rows[static_cast<size_t>(s)];
      row.ids.insert(row.ids.end(), target_[i].begin(), target_[i].end());
      if (row.ids.size() > 64 + 2 * row.unique_count) row.make_unique();
    }
  }
  rows_.push_back(0);
  for (Row& row : rows) {
    row.make_unique();
    targets_.insert(targets_.end(), row.ids.begin(), row.ids.end());
    rows_.push_back(std::ssize(targets_));
    row.ids = {};
  }
  links_.assign(targets_.size(), Link{1, 1});
  unlinked_sources_.assign(sources, 1.0f);
  unlinked_targets_.assign(targets, 1.0f);
}

size_t WordAligner::place(int32_t source, int32_t target) const {
  const auto begin = targets_.begin() + rows_[static_cast<size_t>(source)];
  const auto end = targets_.begin() + rows_[static_cast<size_t>(source) + 1];
  return static_cast<size_t>(std::lower_bound(begin, end, target) - targets_.begin());
}

void WordAligner::compute_posteriors(Model model, int64_t i, Posteriors& result) const {
  const auto source = source_[i], target = target_[i];
  const size_t m = source.size(), n = target.size();
  result = {};
  if (m == 0 || n == 0) return;
  result.places.resize(m * n);
  Direction to_target(m, n, unlinked_[0]), to_source(n, m, unlinked_[1]);
  for (size_t s = 0; s < m; ++s)
    for (size_t t = 0; t < n; ++t) {
      const size_t found = result.places[s * n + t] = place(source[s], target[t]);
      to_target.emission[t * m + s] = links_[found].target_given_source;
      to_source.emission[s * n + t] = links_[found].source_given_target;
    }
  for (size_t s = 0; s < m; ++s)
    to_source.unlinked_emission[s] = unlinked_sources_[static_cast<size_t>(source[s])];
  for (size_t t = 0; t < n; ++t)
    to_target.unlinked_emission[t] = unlinked_targets_[static_cast<size_t>(target[t])];
  for (Distances& distances : result.distances) distances.fill(0);
  if (model == Model::one) {
    to_target.run_model_one();
    to_source.run_model_one();
  } else {
    to_target.run_markov(distances_[0], result.distances[0]);
    to_source.run_markov(distances_[1], result.distances[1]);
  }
  result.products.resize(m * n);
  for (size_t s = 0; s < m; ++s)
    for (size_t t = 0; t < n; ++t)
      result.products[s * n + t] = to_target.posterior[t * m + s] * to_source.posterior[s * n + t];
  result.targets = std::move(to_target.unlinked_posterior);
  result.sources = std::move(to_source.unlinked_posterior);
}

void WordAligner::for_each_pair(Model model, const std::function<void(int64_t, const Posteriors&)>& body) {
  // The limits of a group of pairs, so that long lines need little memory.
  constexpr int64_t max_pairs = 256, max_cells = 1 << 22;
  ThreadPool pool(options_.threads);
  std::vector<Posteriors> posteriors(max_pairs);
  for (int64_t first = 0, end = 0; first < source_.lines.size(); first = end) {
    for (int64_t cells = 0; end < source_.lines.size() && end < first + max_pairs && cells < max_cells; ++end)
      cells += std::ssize(source_[end]) * std::ssize(target_[end]);
    pool.run(end - first, [&](int64_t i, int) {
      check_stop();
      compute_posteriors(model, first + i, posteriors[static_cast<size_t>(i)]);
    });
    for (int64_t i = first; i < end; ++i) {
      body(i, posteriors[static_cast<size_t>(i - first)]);
      progress_.update([&] {
        const double done = passes_ + static_cast<double>(i) / static_cast<double>(source_.lines.size());
        return done / (2 * options_.iterations + 1);
      });
    }
  }
  ++passes_;
}

void WordAligner::train_iteration(Model model) {
  std::vector<double> counts(links_.size()), sources(unlinked_sources_.size()),
      targets(unlinked_targets_.size());
  std::array<Distances, 2> distances{};
  for_each_pair(model, [&](int64_t i, const Posteriors& posteriors) {
    for (size_t k = 0; k < posteriors.places.size(); ++k)
      counts[posteriors.places[k]] += static_cast<double>(posteriors.products[k]);
    for (size_t s = 0; s < posteriors.sources.size(); ++s)
      sources[static_cast<size_t>(source_[i][s])] += static_cast<double>(posteriors.sources[s]);
    for (size_t t = 0; t < posteriors.targets.size(); ++t)
      targets[static_cast<size_t>(target_[i][t])] += static_cast<double>(posteriors.targets[t]);
    for (size_t d = 0; d < 2; ++d)
      for (size_t k = 0; k < distances[d].size(); ++k) distances[d][k] += posteriors.distances[d][k];
  });
  std::vector<double> of_source(sources.size()), of_target(targets.size());
  for (size_t s = 0; s < sources.size(); ++s)
    for (auto k = static_cast<size_t>(rows_[s]); k < static_cast<size_t>(rows_[s + 1]); ++k) {
      of_source[s] += counts[k];
      of_target[static_cast<size_t>(targets_[k])] += counts[k];
    }
  const auto share = [](double count, double all, size_t kinds) {
    return static_cast<float>((count + count_smoothing) / (all + count_smoothing * static_cast<double>(kinds)));
  };
  for (size_t s = 0; s < sources.size(); ++s)
    for (auto k = static_cast<size_t>(rows_[s]); k < static_cast<size_t>(rows_[s + 1]); ++k)
      links_[k] = {share(counts[k], of_source[s], targets.size()),
                   share(counts[k], of_target[static_cast<size_t>(targets_[k])], sources.size())};
  const std::array<const std::vector<double>*, 2> free{&targets, &sources};
  const std::array<std::vector<float>*, 2> probabilities{&unlinked_targets_, &unlinked_sources_};
  const std::array<int64_t, 2> words{target_.lines.total_length(), source_.lines.total_length()};
  for (size_t d = 0; d < 2; ++d) {
    const double all = std::accumulate(free[d]->begin(), free[d]->end(), 0.0);
    for (size_t w = 0; w < free[d]->size(); ++w)
      (*probabilities[d])[w] = share((*free[d])[w], all, free[d]->size());
    if (model == Model::markov) unlinked_[d] = std::clamp(all / static_cast<double>(words[d]), 0.001, 0.5);
  }
  if (model == Model::markov)
    for (size_t d = 0; d < 2; ++d)
      for (size_t k = 0; k < distances[d].size(); ++k) distances_[d][k] = distances[d][k] + 1e-3;
}

}  // namespace sixfold
