#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/corpus.h"
#include "data/epoch_order.h"
#include "text/pair_layout.h"
#include "text/tokenizers.h"

namespace sixfold {

/// A list of sequences of ids, in memory or in mapped files.
class IdSequences {
 public:
  IdSequences() = default;
  /// Maps the two files that a `SequenceWriter` wrote. Throws an input error if they don't belong together.
  static IdSequences map(const std::string& ids_path, const std::string& offsets_path);

  int64_t size() const { return std::ssize(offsets()) - 1; }
  std::span<const int32_t> operator[](int64_t i) const {
    const auto bounds = offsets().subspan(static_cast<size_t>(i), 2);
    return ids().subspan(static_cast<size_t>(bounds[0]), static_cast<size_t>(bounds[1] - bounds[0]));
  }
  int64_t total_length() const { return offsets().back(); }

  /// Append to a list in memory, not to a mapped one.
  void add(std::span<const int32_t> sequence);
  void add_all(const IdSequences& other);

 private:
  struct Mapped {
    MappedFile ids, offsets;
  };
  std::span<const int32_t> ids() const;
  std::span<const int64_t> offsets() const;

  std::vector<int32_t> ids_;
  std::vector<int64_t> offsets_{0};
  std::shared_ptr<const Mapped> mapped_;  ///< null for a list in memory
};

/// The weights of the pairs of a corpus, in a mapped file of numbers [pairs] f32; without a file there are
/// none.
class PairWeights {
 public:
  PairWeights() = default;
  explicit PairWeights(const std::string& path);

  explicit operator bool() const { return mapped_ != nullptr; }
  int64_t size() const { return std::ssize(numbers()); }
  float operator[](int64_t pair) const { return numbers()[static_cast<size_t>(pair)]; }
  /// The weight divided by the largest one, since only the ratios of weights matter.
  float relative(int64_t pair) const { return (*this)[pair] / largest_; }

 private:
  std::span<const float> numbers() const;

  std::shared_ptr<const MappedFile> mapped_;
  float largest_ = 1;
};

/// A parallel corpus as token ids.
struct TokenCorpus {
  IdSequences source;  ///< with the end token
  IdSequences target;  ///< without start and end token, which the batcher adds
  int32_t target_eos = 0;
  std::vector<EpochOrder::Part> mixture = {};  ///< the corpora that it consists of, in order; empty: one corpus
  PairWeights weights = {};
  /// The links between the words of each pair: the numbers of words of both texts, then source word, target
  /// word, source word, and so on. Empty for a pair, or for the whole corpus, without links.
  IdSequences links = {};

  int64_t size() const { return source.size(); }
  std::vector<EpochOrder::Part> parts() const {
    return mixture.empty() ? std::vector<EpochOrder::Part>{{size(), 1}} : mixture;
  }
  /// The number of tokens that pair `i` adds to a batch: source and target, both with the end token.
  int64_t tokens(int64_t i) const { return static_cast<int64_t>(source[i].size() + target[i].size()) + 1; }
  int64_t source_tokens() const { return source.total_length(); }
  /// Includes the end tokens.
  int64_t target_tokens() const { return target.total_length() + size(); }
};

struct EncodeOptions {
  /// Pairs with more tokens on a side, not counting the end token, are dropped; 0: no limit.
  int max_length = 0;
  /// Pairs in which one side has more than this many times the tokens of the other are dropped; 0: no limit.
  double max_ratio = 0;
  int threads = 1;  ///< does not affect the result
  PairLayout layout = {};
  bool language_tokens = false;  ///< sources begin with the token of a language (`LanguageTokens`)
};

/// Encodes pairs and calls `take` for each, in order, with the index of the pair among those that were read,
/// from 0, and its source and target. These include the tokens around them, except the end token of the target.
/// Dropped pairs are counted in `report`; the lengths of the others are added to it. `next` reads a pair and
/// returns false at the end. A few thousand pairs are in memory at a time.
void encode_pairs(const std::function<bool(std::string& source, std::string& target)>& next,
                  const Tokenizers& tokenizers, const EncodeOptions& options, CorpusReport& report,
                  const std::function<void(int64_t pair, std::span<const int32_t> source,
                                           std::span<const int32_t> target)>& take);

/// Encodes all pairs in memory. Dropped pairs are also removed from `text`. Throws an input error if no pair is
/// left.
TokenCorpus encode_corpus(ParallelText& text, const Tokenizers& tokenizers, const EncodeOptions& options,
                          CorpusReport& report);

}  // namespace sixfold
