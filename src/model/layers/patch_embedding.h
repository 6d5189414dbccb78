#pragma once
#include <span>

#include "base/options.h"
#include "model/layers/linear.h"

namespace sixfold {

/// How a model reads images: their size, and the squares that become rows of the encoder.
struct ImageInput {
  int height = 0, width = 0;  ///< in pixels; 0: the model reads text
  int channels = 1;
  int patch = 4;   ///< pixels on a side of a square
  int stride = 0;  ///< pixels from one square to the next; 0: `patch`

  int step() const { return stride ? stride : patch; }
  /// The number of patches of an image.
  int patches() const { return ((height - patch) / step() + 1) * ((width - patch) / step() + 1); }
  /// The number of values of a patch.
  int patch_values() const { return patch * patch * channels; }
};

inline void visit_patches(OptionVisitor& v, ImageInput& o) {
  v.field("patch", o.patch, "number of pixels on a side of a patch", between(1, 1024));
  v.field("stride", o.stride,
          "number of pixels from one patch to the next; less than patch: they overlap; 0: patch",
          between(0, 1024));
}

inline void visit(OptionVisitor& v, ImageInput& o) {
  v.field("height", o.height, "height of the images in pixels; 0: the model reads text", between(0, 1 << 14));
  v.field("width", o.width, "width of the images in pixels", between(0, 1 << 14));
  v.field("channels", o.channels, "channels of the images: 1 (grey) or 3 (red, green, blue)", between(1, 3));
  visit_patches(v, o);
}

/// Throws an input error that names the key unless patches cover the images exactly. For models that read
/// images.
void validate(const ImageInput& input);

/// Patches of images become vectors by a linear map (Dosovitskiy et al. 2021). Const members may be called from
/// several threads.
class PatchEmbedding {
 public:
  /// Weights are named within `make`'s scope.
  PatchEmbedding(const ParameterBuilder& make, const ImageInput& input, int d_model)
      : width_(input.patch_values()), dtype_(make.dtype()), map_(make, width_, d_model) {}

  /// values [rows * patch_values], 0 to 255 -> [rows, d_model].
  Tensor operator()(std::span<const int32_t> values, Context& context) const;

 private:
  int width_;
  DType dtype_;
  Linear map_;
};

}  // namespace sixfold
