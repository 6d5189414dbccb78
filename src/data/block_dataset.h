#pragma once
#include <string>
#include <vector>

#include "base/text_unit.h"
#include "data/dataset.h"
#include "data/token_corpus.h"

namespace sixfold {

struct BlockOptions {
  TextUnit unit = TextUnit::stream;
  int64_t tokens = 256;  ///< most tokens of a block
  TargetEnds ends = {};  ///< the tokens before a block, and after a text that ends
  /// Cut a stream at other places in each epoch. Then up to `tokens` tokens at both ends are left out of an
  /// epoch.
  bool shifts = false;
};

/// The texts of a language model, cut into blocks. A block is a sample: the decoder reads the start token and
/// the block, and each token is the label of the one before it. No block has tokens of two texts. A text that
/// ends has the end token as its last label.
class BlockDataset final : public Dataset {
 public:
  /// `tokenizers` are those that encoded the texts; `describe` alone needs them.
  BlockDataset(IdSequences texts, Tokenizers tokenizers, const BlockOptions& options, std::string hash);

  std::vector<EpochOrder::Part> parts() const override { return {{begins_.back(), 1}}; }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

 private:
  /// A piece of a text.
  struct Block {
    std::span<const int32_t> ids;
    bool ends = false;  ///< whether the end token follows
  };
  bool ends_texts() const { return options_.unit != TextUnit::stream; }
  int64_t blocks_of(int64_t text) const;
  Block block(int64_t sample, int64_t epoch) const;

  IdSequences texts_;
  Tokenizers tokenizers_;
  BlockOptions options_;
  std::string hash_;
  std::vector<int64_t> begins_{0};  ///< the number of the first block of each text, and the end
};

}  // namespace sixfold
