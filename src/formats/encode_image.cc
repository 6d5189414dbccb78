#include "formats/encode_image.h"

#include <png.h>

#include <memory>

namespace sixfold {

std::string encode_png(const Image& image) {
  const auto [height, width, channels] = image.size;
  require(height > 0 && width > 0 && std::ssize(image.values) == image.size.values(),
          "an image of {} has {} values", image.size.describe(), image.values.size());
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<uint32_t>(height), png.width = static_cast<uint32_t>(width);
  png.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const auto free = [](png_image* p) { png_image_free(p); };
  const std::unique_ptr<png_image, decltype(free)> guard(&png, free);
  size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(size, '\0');
  const int done = png_image_write_to_memory(&png, bytes.data(), &size, 0, image.values.data(), 0, nullptr);
  if (done == 0) throw_environment_error("a PNG file can't be made: {}", png.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace sixfold
