#include "data/patches.h"

namespace sixfold {

std::vector<int32_t> patches_of(const Image& image, int patch, int stride, bool class_token) {
  const auto [height, width, channels] = image.size;
  std::vector<int32_t> values(class_token ? static_cast<size_t>(patch * patch * channels) : 0);
  for (int top = 0; top + patch <= height; top += stride)
    for (int left = 0; left + patch <= width; left += stride)
      for (int y = top; y < top + patch; ++y) {
        const auto begin = image.values.begin() + (int64_t{y} * width + left) * channels;
        values.insert(values.end(), begin, begin + int64_t{patch} * channels);
      }
  return values;
}

}  // namespace sixfold
