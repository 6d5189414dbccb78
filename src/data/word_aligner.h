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
  int iterations = 5;  ///< number of training iterations of each of the two models
  /// Two words are linked if the geometric mean of the probabilities of both directions is at least this.
  double threshold = 0.5;
  int threads = 1;
  const std::atomic<int>* stop = nullptr;  ///< `Cancelled` is thrown when it becomes nonzero
};

/// Finds the links between the words of a parallel text, learned from this text alone. A model of each
/// direction links each word with one word of the other language, or with none: IBM model 1 (Brown et al. 1993)
/// and then a hidden Markov model, in which a link depends on the distance from the one before (Vogel, Ney and
/// Tillmann 1996, "HMM-Based Word Alignment in Statistical Translation"). The two directions are trained to
/// agree: the counts of a link are the products of both posteriors (Liang, Taskar and Klein 2006, "Alignment by
/// Agreement"). Results do not depend on the number of threads.
class WordAligner {
 public:
  /// Pairs with more words on a side get no links, since the time for a pair grows with the cube of its length.
  static constexpr size_t max_words = 400;

  explicit WordAligner(const AlignerOptions& options) : options_(options) {}

  /// Adds a pair. Words are compared in folded case and without the punctuation around them. Returns whether
  /// the pair can have links, because it is not too long.
  bool add(std::string_view source, std::string_view target);
  /// Learns from all pairs, and calls `receive` with the links of each pair, in order. Call once, last.
  void align(const std::function<void(const WordLinks&)>& receive);

 private:
  static constexpr int max_distance = 15;
  /// The weights of the distances from one link to the next. The outermost bin of each side is for all larger
  /// distances.
  using Distances = std::array<double, 2 * max_distance + 1>;
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
  void collect_word_pairs();
  void train_iteration(Model model);
  void compute_posteriors(Model model, int64_t i, Posteriors& posteriors) const;
  size_t place(int32_t source, int32_t target) const;
  /// Calls `body(i, posteriors)` for all pairs, in order, after `compute_posteriors` in several threads.
  void for_each_pair(Model model, const std::function<void(int64_t, const Posteriors&)>& body);

  AlignerOptions options_;
  Side source_, target_;
  ReadingProgress progress_{"aligning the words"};
  int passes_ = 0;
  // The pairs of words that occur together in a line: `targets_` holds the target words of each source word,
  // `rows_` where they begin.
  std::vector<int64_t> rows_;
  std::vector<int32_t> targets_;
  struct Link {
    float target_given_source, source_given_target;
  };
  std::vector<Link> links_;
  std::vector<float> unlinked_sources_, unlinked_targets_;  // p(word | no word of the other language)
  // For targets given sources, and for sources given targets: the weights of the distances, and the probability
  // that a word has no link.
  std::array<Distances, 2> distances_;
  std::array<double, 2> unlinked_{0.1, 0.1};
};

}  // namespace sixfold
