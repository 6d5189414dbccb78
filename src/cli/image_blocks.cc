#include "cli/image_blocks.h"

#include <chrono>

#include "cli/interrupt.h"

namespace sixfold::cli {

std::vector<ImageReader::Item> next_images(ImageReader& reader) {
  constexpr size_t most_images = 512;
  constexpr int64_t most_values = 1 << 26;
  std::vector<ImageReader::Item> items;
  for (int64_t values = 0; items.size() < most_images && values < most_values;) {
    if (!items.empty() && !reader.ready(std::chrono::milliseconds(0))) break;
    do check_interrupt();
    while (!reader.ready(std::chrono::milliseconds(50)));
    auto item = reader.next();
    if (!item) break;
    values += item->image.size.values();
    items.push_back(std::move(*item));
  }
  return items;
}

}  // namespace sixfold::cli
