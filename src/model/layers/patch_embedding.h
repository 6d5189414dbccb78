#pragma once
#include <span>
#include <vector>

#include "base/options.h"
#include "model/layers/linear.h"

namespace sixfold {

/// How a model reads images: their size, and the squares that become rows of the encoder.
struct ImageInput {
  int height = 0, width = 0;  ///< in pixels; 0: the model reads text
  int channels = 1;
  int patch = 4;   ///< pixels on a side of a square
  int stride = 0;  ///< pixels from one square to the next; 0: `patch`
  /// Put a learned row, the class token, before the patches. Its state can represent the image (Dosovitskiy et
  /// al. 2021).
  bool class_token = false;
  /// Pixel values x from 0 to 1 are normalized to (x - mean) / std. One number for all channels, or one for
  /// each.
  std::vector<float> mean = {0.5f}, std = {0.5f};

  int step() const { return stride ? stride : patch; }
  /// The number of patches of an image.
  int patches() const { return ((height - patch) / step() + 1) * ((width - patch) / step() + 1); }
  /// The number of rows of an image: its patches, and the class token.
  int rows() const { return patches() + (class_token ? 1 : 0); }
  /// The number of values of a patch.
  int patch_values() const { return patch * patch * channels; }
};

inline void visit_patches(OptionVisitor& v, ImageInput& o) {
  v.field("patch", o.patch, "number of pixels on a side of a patch", between(1, 1024));
  v.field("stride", o.stride,
          "number of pixels from one patch to the next; less than patch: they overlap; 0: patch",
          between(0, 1024));
  v.field("class_token", o.class_token,
          "put a learned row before the patches, whose state can stand for the image (pooling: first)");
  v.field("mean", o.mean,
          "what is subtracted from pixel values, which are from 0 to 1: one number, or one for each channel",
          between(-1e3, 1e3));
  v.field("std", o.std, "what they are then divided by: one number, or one for each channel",
          between(1e-6, 1e6));
}

inline void visit(OptionVisitor& v, ImageInput& o) {
  v.field("height", o.height, "height of the images in pixels; 0: the model reads text", between(0, 1 << 14));
  v.field("width", o.width, "width of the images in pixels", between(0, 1 << 14));
  v.field("channels", o.channels, "channels of the images: 1 (grey) or 3 (red, green, blue)", between(1, 3));
  visit_patches(v, o);
}

/// Throws an input error that names the key unless patches cover the images exactly, and mean and std have one
/// number or one for each channel. For models that read images.
void validate(const ImageInput& input);

/// The patch embedding of images (Dosovitskiy et al. 2021): a linear map of each patch, after the class token
/// if there is one. Const members may be called from several threads.
class PatchEmbedding {
 public:
  /// Weights are named within `make`'s scope.
  PatchEmbedding(ParameterBuilder make, const ImageInput& input, int d_model);

  /// values [rows * patch_values], 0 to 255 -> [rows, d_model]. With a class token, the values of the first row
  /// of each image are not read.
  Tensor operator()(std::span<const int32_t> values, const TokenRows& rows, Context& context) const;

 private:
  Tensor with_class_token(const Tensor& patches, const TokenRows& rows, Context& context) const;

  int width_;
  DType dtype_;
  std::vector<float> scaled_;  // normalized values of the pixel values 0 to 255, for each channel
  Linear map_;
  Tensor class_token_;  // [1, d_model]; empty if there is none
};

}  // namespace sixfold
