#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/lexicon.h"

namespace sixfold {

/// A source and its target.
using LinePair = std::pair<std::string, std::string>;

/// Translation probabilities of words, learned from pairs of lines by IBM model 1 (Brown et al. 1993), which
/// show whether two lines belong together. Words are runs of letters and digits in lower case; in scripts
/// without spaces, each character is a word. Only the first 60 words of a line are used.
class WordTranslations {
 public:
  /// Learns from some thousand pairs.
  /// When `stop` becomes nonzero, `Cancelled` is thrown.
  explicit WordTranslations(std::span<const LinePair> pairs, const std::atomic<int>* stop = nullptr);

  /// The mean log-probability of the words of a target given a source; 0 if either has no word.
  double log_probability(std::string_view source, std::string_view target) const;

  /// For each pair, how much more probable its target is given its own source than given the source of another
  /// pair whose target has about the same length; 0 if the learned translations support neither. Nearly all
  /// matching pairs have a margin above 0, and half of the others.
  std::vector<double> margins(std::span<const LinePair> pairs) const;

  /// The ids of the words of a line in the vocabulary of its side; -1 for a word that was not learned.
  using Words = std::vector<int32_t>;
  Words source_words(std::string_view line) const { return words_of(line, source_ids_); }
  Words target_words(std::string_view line) const { return words_of(line, target_ids_); }
  /// How much more probable the words of a target are given this source than by their unigram frequency: the
  /// logarithm of the ratio, as a mean over all words. Words that were not learned count as 0, and no word
  /// counts as less than log(`backoff`). 0 if either line has no word.
  double evidence(const Words& source, const Words& target) const;

 private:
  using Ids = std::unordered_map<std::string, int32_t>;
  static Words words_of(std::string_view line, const Ids& ids);
  LexicalTable learn(std::span<const LinePair> pairs, const std::atomic<int>* stop);
  double log_probability(const Words& source, const Words& target) const;

  static constexpr int iterations = 4;
  static constexpr double backoff = 0.1;  ///< the weight of the unigram frequency of a word

  Ids source_ids_, target_ids_;
  std::vector<double> frequency_;  ///< unigram frequency of each target word
  LexicalTable table_;
};

}  // namespace sixfold
