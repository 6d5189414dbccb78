#include "model/layers/patch_embedding.h"

#include <vector>

#include "base/error.h"

namespace sixfold {

void validate(const ImageInput& o) {
  require(o.height > 0 && o.width > 0, "image: the height is {} and the width {}; both must be above 0",
          o.height, o.width);
  require(o.channels == 1 || o.channels == 3, "image.channels: is {}; expected 1 or 3", o.channels);
  require(o.patch <= o.height && o.patch <= o.width,
          "image.patch: is {}, but the images are only {} x {} pixels", o.patch, o.height, o.width);
  require(o.step() <= o.patch,
          "image.stride: is {}, but patches have only {} pixels on a side; pixels between them "
          "would be left out",
          o.stride, o.patch);
  require((o.height - o.patch) % o.step() == 0 && (o.width - o.patch) % o.step() == 0,
          "image.patch: patches of {} pixels, {} pixels apart, do not cover images of {} x {} pixels exactly; "
          "choose "
          "other sizes",
          o.patch, o.step(), o.height, o.width);
}

Tensor PatchEmbedding::operator()(std::span<const int32_t> values, Context& context) const {
  std::vector<float> scaled;  // -1 to 1
  scaled.reserve(values.size());
  for (const int32_t value : values) scaled.push_back(static_cast<float>(value) / 127.5f - 1.0f);
  const Tensor x = context.matrix(scaled, std::ssize(values) / width_, width_, dtype_);
  return map_(x, context);
}

}  // namespace sixfold
