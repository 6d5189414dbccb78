#include "data/stored_images.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sixfold {
namespace {

TEST(PatchCutter, ChangesImagesByTheSeedToo) {
  const Image image{.size = {8, 8, 1}, .values = [] {
                      std::vector<uint8_t> values;
                      for (int i = 0; i < 64; ++i) values.push_back(static_cast<uint8_t>(i));
                      return values;
                    }()};
  std::vector<int32_t> sequence{8, 8, 1};
  sequence.resize(3 + 16);
  std::memcpy(sequence.data() + 3, image.values.data(), 64);
  sequence.push_back(0);
  const auto ids = [&](uint64_t seed, int64_t epoch) {
    BatchBuilder builder;
    PatchCutter{.patch = 4, .stride = 4, .augmentation = {.shift = 4}, .seed = seed}.add(
        stored_image(sequence), 0, epoch, builder.sample(0));
    return builder.take().source.ids;
  };
  int differ = 0;
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    EXPECT_EQ(ids(2, epoch), ids(2, epoch));
    differ += ids(1, epoch) != ids(2, epoch);
  }
  EXPECT_GE(differ, 8);  // of 81 shifts two may be the same
}

}  // namespace
}  // namespace sixfold
