#include "data/check/word_translations.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sixfold {
namespace {

constexpr size_t max_words_of_line = 60;

/// Whether a script is written without spaces between words.
bool has_no_spaces(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  return uscript_breaksBetweenLetters(uscript_getScript(c, &status)) != 0;
}

template <class Use>
void each_word(std::string_view line, const Use& use) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(line.data());
  const auto size = static_cast<int32_t>(line.size());
  std::string word;
  size_t count = 0;
  const auto end_word = [&] {
    if (!word.empty() && count++ < max_words_of_line) use(word);
    word.clear();
  };
  for (int32_t i = 0; i < size && count < max_words_of_line;) {
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

}  // namespace

WordTranslations::WordTranslations(std::span<const LinePair> pairs, const std::atomic<int>* stop)
    : table_(learn(pairs, stop)) {}

LexicalTable WordTranslations::learn(std::span<const LinePair> pairs, const std::atomic<int>* stop) {
  const auto add_words = [](std::string_view line, Ids& ids) {
    Words words;
    each_word(line, [&](const std::string& word) {
      words.push_back(ids.try_emplace(word, static_cast<int32_t>(ids.size())).first->second);
    });
    return words;
  };
  TokenCorpus corpus;
  double all = 0;
  for (const auto& [source, target] : pairs) {
    Words words = add_words(source, source_ids_);
    words.push_back(0);  // in place of the end token, which the table ignores
    corpus.source.add(words);
    words = add_words(target, target_ids_);
    corpus.target.add(words);
    frequency_.resize(target_ids_.size());
    for (const int32_t word : words) ++frequency_[static_cast<size_t>(word)], ++all;
  }
  for (double& frequency : frequency_) frequency /= all;
  return {corpus, static_cast<int>(source_ids_.size()), iterations, stop};
}

WordTranslations::Words WordTranslations::words_of(std::string_view line, const Ids& ids) {
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
    double sum = table_.probability(LexicalTable::no_source, word);
    for (const int32_t s : source)
      if (s >= 0) sum += table_.probability(s, word);
    const double unigram = word < 0 ? 1e-7 : frequency_[static_cast<size_t>(word)];
    log_sum += std::log((1 - backoff) * sum / static_cast<double>(source.size() + 1) + backoff * unigram);
  }
  return log_sum / static_cast<double>(target.size());
}

double WordTranslations::log_probability(std::string_view source, std::string_view target) const {
  return log_probability(words_of(source, source_ids_), words_of(target, target_ids_));
}

double WordTranslations::evidence(const Words& source, const Words& target) const {
  if (source.empty() || target.empty()) return 0;
  std::vector<double> sums(target.size());
  // One source word after the other, so that its row stays in the cache.
  const auto add = [&](int32_t source_word) {
    for (size_t i = 0; i < target.size(); ++i)
      if (target[i] >= 0) sums[i] += table_.probability(source_word, target[i]);
  };
  add(LexicalTable::no_source);
  for (const int32_t word : source)
    if (word >= 0) add(word);
  double log_sum = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] < 0) continue;
    const double beside = sums[i] / static_cast<double>(source.size() + 1);
    log_sum += std::log((1 - backoff) * beside / frequency_[static_cast<size_t>(target[i])] + backoff);
  }
  return log_sum / static_cast<double>(target.size());
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
