#pragma once
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/text_blocks.h"

namespace sixfold {

/// The texts of a language model, cut into blocks. A block is a sample: the decoder reads the start token and
/// the block, and each token is the label of the one before it. No block has tokens of two texts. A text that
/// ends has the end token as its last label.
class BlockDataset final : public Dataset {
 public:
  /// `tokenizers` are those that encoded the texts; only `describe` needs them.
  BlockDataset(TextBlocks blocks, Tokenizers tokenizers, TargetEnds ends, std::string hash);

  std::vector<EpochOrder::Part> parts() const override { return {{blocks_.size(), 1}}; }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

 private:
  TextBlocks blocks_;
  Tokenizers tokenizers_;
  TargetEnds ends_;
  std::string hash_;
};

}  // namespace sixfold
