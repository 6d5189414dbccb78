#pragma once
#include <array>
#include <string>

#include "base/file.h"
#include "base/random.h"
#include "formats/idx_bytes.h"
#include "formats/image.h"

namespace sixfold {

/// The captions for a bright square in each of the four quarters of an image.
inline constexpr std::array<const char*, 4> quarter_captions = {
    "the light is at the top left", "top right of the picture", "below it is left", "right and below"};

/// A grey image of 8 x 8 pixels with a bright square in one of the four quarters.
inline Image quarter_image(int quarter) {
  Image image{.size = {8, 8, 1}, .values = std::vector<uint8_t>(64)};
  for (int i = 0; i < 64; ++i)
    if (i / 32 * 2 + i % 8 / 4 == quarter) image.values[static_cast<size_t>(i)] = 200;
  return image;
}

/// Writes noisy images of quarters as NAME.images, the numbers of the quarters as NAME.labels, and their
/// captions as NAME.captions; `name` includes the folder.
inline void write_quarters(const std::string& name, uint32_t count, uint64_t seed) {
  RandomStream random(seed, 0);
  std::string pixels, labels, captions;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t quarter = random.below(4);
    labels.push_back(static_cast<char>(quarter));
    captions += std::string(quarter_captions[quarter]) + "\n";
    for (uint32_t y = 0; y < 8; ++y)
      for (uint32_t x = 0; x < 8; ++x)
        pixels.push_back(static_cast<char>((y / 4 * 2 + x / 4 == quarter ? 180 : 0) + random.below(60)));
  }
  write_file_atomically(name + ".images", idx_bytes({count, 8, 8}, pixels));
  write_file_atomically(name + ".labels", idx_bytes({count}, labels));
  write_file_atomically(name + ".captions", captions);
}

}  // namespace sixfold
