#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/corpus.h"
#include "text/tokenizers.h"

namespace sixfold {

/// Many sequences of ids in one piece of memory.
class IdSequences {
 public:
  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  std::span<const int32_t> operator[](int64_t i) const {
    return {ids_.data() + offsets_[i], ids_.data() + offsets_[i + 1]};
  }
  int64_t total_length() const { return offsets_.back(); }

  void add(std::span<const int32_t> sequence);
  void add_all(const IdSequences& other);

 private:
  std::vector<int32_t> ids_;
  std::vector<int64_t> offsets_{0};
};

/// A corpus as ids, all in memory.
struct TokenCorpus {
  IdSequences source;         ///< pieces and end symbol
  IdSequences target;         ///< pieces alone; the batcher adds start and end symbol
  int32_t target_start = -1;  ///< what the decoder begins with; -1: an embedding of zeros
  int32_t target_eos = 0;

  int64_t size() const { return source.size(); }
  /// What pair `i` counts in a batch: its source and its target, both with the end symbol.
  int64_t tokens(int64_t i) const { return static_cast<int64_t>(source[i].size() + target[i].size()) + 1; }
  int64_t source_tokens() const { return source.total_length(); }
  /// With the end symbols.
  int64_t target_tokens() const { return target.total_length() + size(); }
};

struct EncodeOptions {
  int max_length =
      0;            ///< pairs with more pieces on a side, end symbol not counted, are dropped; 0 for no limit
  int threads = 1;  ///< changes nothing in the result
};

/// Encodes all pairs. Those that are too long, or have no pieces on a side, are dropped and counted in
/// `report`. Throws when none is left.
TokenCorpus encode_corpus(const ParallelText& text, const Tokenizers& tokenizers, const EncodeOptions& options,
                          CorpusReport& report);

}  // namespace sixfold
