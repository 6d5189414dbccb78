#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace sixfold {

/// The maximum number of pixels on a side of an image, and in the whole image.
constexpr int longest_image_side = 1 << 14;
constexpr int64_t most_image_pixels = int64_t{1} << 26;

/// The size of an image in pixels, and its number of channels: 1 (grey) or 3 (red, green, blue).
struct ImageSize {
  int height = 0, width = 0, channels = 1;

  int64_t values() const { return int64_t{height} * width * channels; }
  /// "28 x 28 with 1 channel": height and width.
  std::string describe() const {
    return fmt::format("{} x {} with {}", height, width, channels == 1 ? "1 channel" : "3 channels");
  }
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// An image: rows from top to bottom, pixels from left to right, and for each pixel its channels.
struct Image {
  ImageSize size;
  std::vector<uint8_t> values;
};

}  // namespace sixfold
