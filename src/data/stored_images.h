#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/augment.h"
#include "data/image_reader.h"
#include "data/sequence_store.h"
#include "ops/batch.h"

namespace sixfold {

/// An image of a store, and the numbers that follow it in its sequence.
struct StoredImage {
  ImageSize size;
  std::span<const int32_t> packed;  ///< the values of the pixels, four in each number
  std::span<const int32_t> rest;    ///< the numbers after the image, at least one: a label or a caption

  Image image() const;
};

/// The image that a sequence of a store begins with. Throws an input error if there is none, or nothing after
/// it.
StoredImage stored_image(std::span<const int32_t> sequence);

/// Appends `text`, the label or caption of an image, to its sequence. `place` names the image in messages.
/// Returns its number of bytes.
using AppendImageText =
    std::function<int64_t(const std::string& text, const std::string& place, SequenceSink& sink)>;

/// Throws an error if a task can't use images of this size.
using CheckImageSize = std::function<void(const ImageSize& size)>;

/// Encodes images with their texts for a store: a sequence is an image, then what `append` adds. `check` is
/// called with the first image, before any is encoded. Throws as `PairedImageReader`, `append` and `check`, and
/// an input error that names the image if its size is not that of the training images, which must be encoded
/// first.
EncodeFiles image_encoder(ImageTexts texts, AppendImageText append, CheckImageSize check);

/// Cuts stored images into patches, after random changes that are a function of seed, sample and epoch.
struct PatchCutter {
  int patch = 4, stride = 4;
  bool class_token = false;  ///< a row for it stands before the patches
  Augmentation augmentation;
  uint64_t seed = 1;

  /// The number of rows of an image.
  int64_t rows(const ImageSize& size) const;
  /// Adds the patches of a sample to a batch, as its source.
  void add(const StoredImage& stored, int64_t sample, int64_t epoch, BatchBuilder& batch) const;
};

}  // namespace sixfold
