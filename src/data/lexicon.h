#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "data/token_corpus.h"

namespace sixfold {

/// p(target | source) for the tokens that occur together in pairs of a corpus, learned by IBM model 1 (Brown et
/// al. 1993, "The Mathematics of Statistical Machine Translation"): `iterations` steps of expectation
/// maximization from uniform probabilities. A target token may also be aligned with no source token.
class LexicalTable {
 public:
  static constexpr int32_t no_source = -1;

  /// When `stop` becomes nonzero, `Cancelled` is thrown.
  LexicalTable(const TokenCorpus& corpus, int source_vocab, int iterations,
               const std::atomic<int>* stop = nullptr);

  /// 0 for tokens that do not occur together.
  float probability(int32_t source, int32_t target) const;
  /// At most `max_targets` targets with a probability of at least `min_probability`, the most likely first.
  std::vector<int32_t> best(int32_t source, int max_targets, float min_probability) const;

 private:
  struct Row {
    std::vector<int32_t> ids;  ///< sorted and unique after `make_unique`
    std::vector<float> probability;
    std::vector<double> count;
    size_t unique_count = 0;

    void add(int32_t id);
    void make_unique();
    void finish_ids();
    size_t index_of(int32_t id) const;
    void normalize();
  };
  const Row& row(int32_t source) const { return rows_[static_cast<size_t>(int64_t{source} + 1)]; }
  template <class Body>
  void for_sources(const TokenCorpus& corpus, int64_t i, const Body& body);
  void train_iteration(const TokenCorpus& corpus, const std::atomic<int>* stop);

  std::vector<Row> rows_;  ///< the first row is that of `no_source`
};

/// For each source id, up to `best` target ids, the most likely translations first, by a `LexicalTable`.
/// Translations with a probability below 1/10,000 are omitted. When `stop` becomes nonzero, `Cancelled` is
/// thrown.
std::vector<std::vector<int32_t>> learn_lexicon(const TokenCorpus& corpus, int source_vocab, int target_vocab,
                                                int best, int iterations = 5,
                                                const std::atomic<int>* stop = nullptr);

/// The `count` most frequent target ids, including the end token; of equally frequent ids, the lower first.
std::vector<int32_t> frequent_targets(const TokenCorpus& corpus, int target_vocab, int count);

}  // namespace sixfold
