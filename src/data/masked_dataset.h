#pragma once
#include <string>

#include "data/dataset.h"
#include "data/text_blocks.h"

namespace sixfold {

struct MaskingOptions {
  double share = 0.15;  ///< of the tokens that are predicted
  int vocabulary = 0;   ///< number of tokens
  int32_t mask = 0, bos = -1, eos = 2;
  uint64_t seed = 1;
};

/// Blocks of text for masked language modelling (Devlin et al. 2019): the encoder reads the start token, if
/// there is one, a block and the end token. It predicts a random selection of the tokens of the block, at least
/// one. Of the selected tokens, 80% are replaced by the mask token, 10% by a random token, and 10% are
/// unchanged. The selection is a function of seed, sample and epoch.
class MaskedDataset final : public Dataset {
 public:
  /// `tokenizers` are those that encoded the texts; only `describe` needs them. Throws an input error if the
  /// share is not from 0 to 1.
  MaskedDataset(TextBlocks blocks, Tokenizers tokenizers, const MaskingOptions& options, std::string hash);

  std::vector<EpochOrder::Part> parts() const override { return {{blocks_.size(), 1}}; }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

 private:
  TextBlocks blocks_;
  Tokenizers tokenizers_;
  MaskingOptions options_;
  std::string hash_;
};

}  // namespace sixfold
