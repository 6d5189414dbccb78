#include "data/augment.h"

#include <algorithm>

namespace sixfold {
namespace {

constexpr uint8_t grey = 128;

int between(RandomStream& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<uint32_t>(high - low + 1)));
}

/// The image, moved to the right and down, and mirrored before if `flip` is set.
Image moved(const Image& image, bool flip, int right, int down) {
  const auto [height, width, channels] = image.size;
  Image result{.size = image.size, .values = std::vector<uint8_t>(image.values.size())};
  for (int y = std::max(0, down); y < std::min(height, height + down); ++y)
    for (int x = std::max(0, right); x < std::min(width, width + right); ++x) {
      const int from = flip ? width - 1 - (x - right) : x - right;
      const auto pixel = image.values.begin() + (int64_t{y - down} * width + from) * channels;
      std::copy_n(pixel, channels, result.values.begin() + (int64_t{y} * width + x) * channels);
    }
  return result;
}

/// Fills a square around a pixel, as far as it is in the image.
void cut(Image& image, int side, int row, int column) {
  const auto [height, width, channels] = image.size;
  const int top = row - side / 2, left = column - side / 2;
  const int begin = std::max(left, 0), end = std::min(left + side, width);
  for (int y = std::max(top, 0); y < std::min(top + side, height); ++y)
    std::fill_n(image.values.begin() + (int64_t{y} * width + begin) * channels, int64_t{end - begin} * channels,
                grey);
}

}  // namespace

Image augmented(const Image& image, const Augmentation& options, RandomStream& random) {
  const bool flip = options.flip && random.below(2) == 1;
  const int right = options.shift > 0 ? between(random, -options.shift, options.shift) : 0;
  const int down = options.shift > 0 ? between(random, -options.shift, options.shift) : 0;
  Image result = flip || right != 0 || down != 0 ? moved(image, flip, right, down) : image;
  if (options.cut_out > 0) {
    const int row = between(random, 0, image.size.height - 1);
    cut(result, options.cut_out, row, between(random, 0, image.size.width - 1));
  }
  return result;
}

}  // namespace sixfold
