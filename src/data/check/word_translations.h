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

/// How likely words are as translations of others, learned from pairs of lines by IBM model 1 (Brown et al.
/// 1993). Words are runs of letters and digits in lower case, and each character of scripts that write no
/// spaces; of a line the first 60 count. It tells whether two lines belong together.
class WordTranslations {
 public:
  /// Learns from some thousand pairs.
  /// When `stop` becomes nonzero, `Cancelled` is thrown.
  explicit WordTranslations(std::span<const LinePair> pairs, const std::atomic<int>* stop = nullptr);

  /// The mean log-probability of the words of a target beside a source; 0 if either has no word.
  double log_probability(std::string_view source, std::string_view target) const;

  /// For each of the pairs, by how much its target is likelier beside its own source than beside that of
  /// another pair, whose target has about the same length; 0 if nothing that was learned speaks for either. Of
  /// pairs that belong together nearly all are above 0; of others, half.
  std::vector<double> margins(std::span<const LinePair> pairs) const;

  /// The numbers of the words of a line, by which they appear on their side of the pairs; -1: a word that was
  /// not learned.
  using Words = std::vector<int32_t>;
  Words source_words(std::string_view line) const { return words_of(line, source_ids_); }
  Words target_words(std::string_view line) const { return words_of(line, target_ids_); }
  /// How much likelier the words of a target are beside this source than by their own frequency: the logarithm
  /// of the ratio, as a mean over all words. Those that were not learned count as 0, and no word as less than
  /// log(`backoff`). 0 if either has no word.
  double evidence(const Words& source, const Words& target) const;

 private:
  using Ids = std::unordered_map<std::string, int32_t>;
  static Words words_of(std::string_view line, const Ids& ids);
  LexicalTable learn(std::span<const LinePair> pairs, const std::atomic<int>* stop);
  double log_probability(const Words& source, const Words& target) const;

  static constexpr int iterations = 4;
  static constexpr double backoff = 0.1;  ///< the weight of a word's own frequency

  Ids source_ids_, target_ids_;
  std::vector<double> frequency_;  ///< of each target word
  LexicalTable table_;
};

}  // namespace sixfold
