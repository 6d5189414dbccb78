#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/sequence_store.h"
#include "images/augment.h"

namespace sixfold {

/// An image in a store, and the numbers after it.
struct StoredImage {
  ImageSize size;
  std::span<const int32_t> packed;  ///< its values, four in a number
  std::span<const int32_t> rest;

  Image image() const;
};

/// Appends an image to a sequence of a store.
void append_image(SequenceSink& sink, const Image& image);

/// The image that a sequence of a store begins with. Throws an input error if there is none.
StoredImage stored_image(std::span<const int32_t> sequence);

/// Encodes labelled images for a store: a sequence is an image, then the number of its label. Throws as
/// `LabelledImageReader`, and an input error that names the image if its label is not among `labels`, or if its
/// size is not that of the training images.
EncodeFiles image_encoder(const std::vector<std::string>& labels, const std::vector<std::string>& label_names);

struct ImageDatasetOptions {
  std::vector<std::string> labels;
  std::vector<float> weights;  ///< of the losses, one for each label
  int patch = 4, stride = 4;
  Augmentation augmentation;
};

/// Labelled images for an encoder of patches, as `image_encoder` stores them. How an image is changed is a
/// function of sample and epoch.
class ImageDataset final : public Dataset {
 public:
  /// Throws an input error if the store has no images.
  ImageDataset(IdSequences sequences, ImageDatasetOptions options, std::string hash);

  std::vector<EpochOrder::Part> parts() const override { return {{sequences_.size(), 1}}; }
  int64_t tokens(int64_t sample, int64_t epoch) const override;
  void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const override;
  SampleDescription describe(int64_t sample) const override;
  std::string hash() const override { return hash_; }

  ImageSize size_of_images() const { return stored_image(sequences_[0]).size; }
  int32_t label(int64_t sample) const { return stored_image(sequences_[sample]).rest[0]; }

 private:
  IdSequences sequences_;
  ImageDatasetOptions options_;
  std::string hash_;
  int64_t patches_ = 0;
};

}  // namespace sixfold
