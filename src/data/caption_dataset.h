#pragma once
#include <string>

#include "data/dataset.h"
#include "data/stored_images.h"
#include "text/tokenizers.h"

namespace sixfold {

/// Stores the tokens of a caption. Throws an input error that names the image if its caption has no token. The
/// tokenizer must outlive the function.
AppendImageText caption_appender(const Tokenizer& tokenizer);

/// Images with captions, as `image_encoder` stores them with `caption_appender`, for an encoder of patches and
/// a decoder that is trained with teacher forcing.
class CaptionDataset final : public Dataset {
 public:
  /// Throws an input error if the store has no images.
  CaptionDataset(IdSequences sequences, PatchCutter cutter, const Tokenizers& tokenizers, TargetEnds ends,
                 std::string hash);

  std::vector<EpochOrder::Part> parts() const override { return {{sequences_.size(), 1}}; }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

  /// The number of rows that the encoder reads for an image.
  int64_t rows() const { return rows_; }
  /// The tokens of a caption, without the end token.
  std::span<const int32_t> caption(int64_t sample) const { return stored_image(sequences_[sample]).rest; }

 private:
  IdSequences sequences_;
  PatchCutter cutter_;
  Tokenizers tokenizers_;
  TargetEnds ends_;
  std::string hash_;
  int64_t rows_ = 0;
};

}  // namespace sixfold
