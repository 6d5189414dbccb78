#include "program/kit/image_blocks.h"

namespace sixfold::cli {

std::vector<ImageReader::Item> next_images(ImageReader& reader, ImageBlocks& blocks) {
  constexpr size_t max_images = 512;
  constexpr int64_t max_values = 1 << 26;
  int64_t values = 0;
  const auto read = [&](ImageReader::Item& item) {
    auto next = reader.next();
    if (!next) return false;
    item = std::move(*next);
    values += item.image.size.values();
    return true;
  };
  return blocks.next(reader, read, [&](const std::vector<ImageReader::Item>& items) {
    return items.size() >= max_images || values >= max_values;
  });
}

}  // namespace sixfold::cli
