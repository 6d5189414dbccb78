#pragma once
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/stored_images.h"

namespace sixfold {

/// Stores the number of a label. Throws an input error that names the image if its label is not among `labels`.
AppendImageText label_appender(const std::vector<std::string>& labels);

struct ImageDatasetOptions {
  std::vector<std::string> labels;
  std::vector<float> weights;  ///< of the losses, one for each label
  PatchCutter cutter;
};

/// Labelled images for an encoder of patches, as `image_encoder` stores them with `label_appender`.
class ImageDataset final : public Dataset {
 public:
  /// Throws an input error if the store has no images.
  ImageDataset(IdSequences sequences, ImageDatasetOptions options, std::string hash);

  std::vector<EpochOrder::Part> parts() const override { return {{sequences_.size(), 1}}; }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

  int32_t label(int64_t sample) const { return stored_image(sequences_[sample]).rest[0]; }

 private:
  IdSequences sequences_;
  ImageDatasetOptions options_;
  std::string hash_;
  int64_t rows_ = 0;
};

}  // namespace sixfold
