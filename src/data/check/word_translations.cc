#include "data/check/word_translations.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr size_t most_words = 60;

/// Whether a script is written without spaces between words.
bool has_no_spaces(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  return uscript_breaksBetweenLetters(uscript_getScript(c, &status)) != 0;
}

void each_word(std::string_view line, const std::function<void(const std::string&)>& use) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(line.data());
  const auto size = static_cast<int32_t>(line.size());
  std::string word;
  size_t count = 0;
  const auto end_word = [&] {
    if (!word.empty() && count++ < most_words) use(word);
    word.clear();
  };
  for (int32_t i = 0; i < size && count < most_words;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(bytes, i, size, c);
    const bool single = has_no_spaces(c);
    if (single || !(u_isalnum(c) || u_charType(c) == U_NON_SPACING_MARK)) end_word();
    if (!u_isalnum(c) && u_charType(c) != U_NON_SPACING_MARK) continue;
    char buffer[4];
    int32_t length = 0;
    U8_APPEND_UNSAFE(buffer, length, u_tolower(c));
    word.append(buffer, static_cast<size_t>(length));
    if (single) end_word();
  }
  end_word();
}

std::vector<int32_t> add_words(std::string_view line, std::unordered_map<std::string, int32_t>& ids,
                               int32_t first) {
  std::vector<int32_t> words;
  each_word(line, [&](const std::string& word) {
    words.push_back(ids.try_emplace(word, first + static_cast<int32_t>(ids.size())).first->second);
  });
  return words;
}

}  // namespace

WordTranslations::WordTranslations(std::span<const LinePair> pairs, const std::atomic<int>* stop) {
  std::vector<Words> sources, targets;
  for (const auto& [source, target] : pairs) {
    sources.push_back(add_words(source, source_ids_, 1));
    targets.push_back(add_words(target, target_ids_, 0));
  }
  learn(sources, targets, stop);
}

void WordTranslations::learn(const std::vector<Words>& sources, const std::vector<Words>& targets,
                             const std::atomic<int>* stop) {
  frequency_.assign(target_ids_.size(), 0);
  double all = 0;
  for (const Words& target : targets)
    for (const int32_t word : target) ++frequency_[static_cast<size_t>(word)], ++all;
  for (double& frequency : frequency_) frequency /= all;
  probabilities_.assign(source_ids_.size() + 1, {});
  for (int i = 0; i < iterations; ++i) {
    std::vector<std::unordered_map<int32_t, float>> counts(probabilities_.size());
    for (size_t pair = 0; pair < sources.size(); ++pair) {
      if (stop && stop->load() != 0) throw Cancelled();
      Words source = sources[pair];
      source.push_back(0);
      for (const int32_t word : targets[pair]) {
        double sum = 0;  // from uniform probabilities, all are alike in the first step
        for (const int32_t s : source) sum += i == 0 ? 1 : probabilities_[static_cast<size_t>(s)][word];
        if (sum <= 0) continue;
        for (const int32_t s : source) {
          const double part = i == 0 ? 1 : probabilities_[static_cast<size_t>(s)][word];
          counts[static_cast<size_t>(s)][word] += static_cast<float>(part / sum);
        }
      }
    }
    for (auto& row : counts) {
      const float sum = std::accumulate(row.begin(), row.end(), 0.0f,
                                        [](float s, const auto& one) { return s + one.second; });
      for (auto& [word, count] : row) count /= sum;
    }
    probabilities_ = std::move(counts);
  }
}

WordTranslations::Words WordTranslations::words_of(std::string_view line,
                                                   const std::unordered_map<std::string, int32_t>& ids) const {
  Words words;
  each_word(line, [&](const std::string& word) {
    const auto found = ids.find(word);
    words.push_back(found == ids.end() ? -1 : found->second);
  });
  return words;
}

double WordTranslations::log_probability(const Words& source, const Words& target) const {
  if (source.empty() || target.empty()) return 0;
  double log_sum = 0;
  for (const int32_t word : target) {
    double sum = 0;
    const auto add = [&](int32_t s) {
      if (s < 0) return;
      const auto& row = probabilities_[static_cast<size_t>(s)];
      if (const auto found = row.find(word); found != row.end()) sum += found->second;
    };
    for (const int32_t s : source) add(s);
    add(0);
    const double own = word < 0 ? 1e-7 : frequency_[static_cast<size_t>(word)];
    log_sum += std::log((1 - backoff) * sum / static_cast<double>(source.size() + 1) + backoff * own);
  }
  return log_sum / static_cast<double>(target.size());
}

double WordTranslations::log_probability(std::string_view source, std::string_view target) const {
  return log_probability(words_of(source, source_ids_), words_of(target, target_ids_));
}

std::vector<double> WordTranslations::margins(std::span<const LinePair> pairs) const {
  std::vector<Words> sources, targets;
  for (const auto& [source, target] : pairs) {
    sources.push_back(words_of(source, source_ids_));
    targets.push_back(words_of(target, target_ids_));
  }
  std::vector<size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return targets[i].size(); });
  std::vector<double> margins(pairs.size());
  for (size_t k = 0; k < order.size(); ++k) {
    const size_t own = order[k], other = order[(k + 1) % order.size()];
    margins[own] = log_probability(sources[own], targets[own]) - log_probability(sources[other], targets[own]);
  }
  return margins;
}

}  // namespace sixfold
