#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/corpus.h"
#include "data/token_corpus.h"
#include "text/word_links.h"
#include "text/words.h"

namespace sixfold {

struct AlignerOptions {
  int iterations = 5;      ///< of each of the two models
  double threshold = 0.5;  ///< the probability from which on two words are linked: the mean of both directions
  int threads = 1;
  const std::atomic<int>* stop = nullptr;  ///< `Cancelled` is thrown when it becomes nonzero
};

/// Links between the words of parallel text, learned from it alone. A model of each direction says with which
/// word of the other language, or with none, each word is linked: IBM model 1 (Brown et al. 1993) and then a
/// hidden Markov model, in which a link depends on the distance from the one before (Vogel, Ney and Tillmann
/// 1996, "HMM-Based Word Alignment in Statistical Translation"). The two are trained to agree: what both hold
/// for linked counts (Liang, Taskar and Klein 2006, "Alignment by Agreement"). Results do not depend on the
/// number of threads.
class WordAligner {
 public:
  /// Pairs with more words on a side get no links, since the time for a pair grows with the cube of its length.
  static constexpr size_t most_words = 400;

  explicit WordAligner(const AlignerOptions& options) : options_(options) {}

  /// Adds a pair. Words are told apart without case, and without the punctuation around them. Returns whether
  /// it can have links: it is not too long.
  bool add(std::string_view source, std::string_view target);
  /// Learns from all pairs, and passes the links of each on, in their order. Call once, last.
  void align(const std::function<void(const WordLinks&)>& use);

 private:
  static constexpr int farthest = 15;
  /// The weights of the distances from one link to the next, the last of each side for all that are farther.
  using Distances = std::array<double, 2 * farthest + 1>;
  enum class Model { one, markov };
  struct Pair;
  struct Posteriors;
  class Direction;

  /// The words of one side of all pairs, as ids.
  struct Side {
    std::unordered_map<std::string, int32_t> ids;
    IdSequences lines;

    void add(std::string_view line, std::span<const TextRange> words);
    std::span<const int32_t> operator[](int64_t i) const { return lines[i]; }
  };

  void check_stop() const;
  void see_words();
  void improve(Model model);
  void expect(Model model, int64_t i, Posteriors& posteriors) const;
  size_t place(int32_t source, int32_t target) const;
  /// Calls `body(i, posteriors)` for all pairs, in order, after `expect` in several threads.
  void over_pairs(Model model, const std::function<void(int64_t, const Posteriors&)>& body);

  AlignerOptions options_;
  Side source_, target_;
  ReadingProgress progress_{"aligning the words"};
  int passes_ = 0;
  // The pairs of words that occur together, row by row of the source words.
  std::vector<int64_t> rows_;
  std::vector<int32_t> targets_;
  struct Link {
    float target_given_source, source_given_target;
  };
  std::vector<Link> links_;
  std::vector<float> unlinked_sources_, unlinked_targets_;  // p(word | no word of the other language)
  // Of targets given sources, and the other way: the distances, and how likely a word has no link.
  std::array<Distances, 2> distances_;
  std::array<double, 2> unlinked_{0.1, 0.1};
};

}  // namespace sixfold
