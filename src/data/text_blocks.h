#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/token_corpus.h"

namespace sixfold {

struct BlockOptions {
  int64_t tokens = 256;  ///< maximum number of tokens of a block
  bool ends = false;     ///< texts have an end token, which counts as a token of the last block
  /// Cut texts at different places in each epoch; only for texts without end tokens. Then up to `tokens` tokens
  /// at the beginning and at the end of a text are left out of an epoch.
  bool shifts = false;
  uint64_t seed = 1;  ///< seed of the places where texts are cut
};

/// Texts that are cut into blocks. No block has tokens of two texts. Safe to share between threads.
class TextBlocks {
 public:
  /// Throws an input error if a block has no tokens.
  TextBlocks(IdSequences texts, const BlockOptions& options);

  /// A piece of a text.
  struct Block {
    std::span<const int32_t> ids;
    bool ends = false;  ///< whether the end of the text follows
  };
  int64_t size() const { return size_; }
  Block block(int64_t number, int64_t epoch) const;

 private:
  int64_t blocks_of(int64_t text) const;

  IdSequences texts_;
  BlockOptions options_;
  // Texts; keeping a number for each would take more memory than short texts.
  static constexpr int64_t group = 64;
  std::vector<int64_t> begins_;  // the number of the first block of each group of texts
  int64_t size_ = 0;
};

}  // namespace sixfold
