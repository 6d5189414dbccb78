#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/token_corpus.h"

namespace sixfold {

struct BlockOptions {
  int64_t tokens = 256;  ///< most tokens of a block
  bool ends = false;     ///< the end of a text takes the place of a token
  /// Cut texts at other places in each epoch, for texts that have no ends. Then up to `tokens` tokens at both
  /// sides of a text are left out of an epoch.
  bool shifts = false;
  uint64_t seed = 1;  ///< of these places
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
  static constexpr int64_t group =
      64;                        // texts; keeping a number for each would take more memory than short texts
  std::vector<int64_t> begins_;  // the number of the first block of each group of texts
  int64_t size_ = 0;
};

}  // namespace sixfold
