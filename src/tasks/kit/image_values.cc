#include "tasks/kit/image_values.h"

#include "data/patches.h"

namespace sixfold {

ImageValues image_values(const Image& image, const ImageInput& input) {
  const ImageSize expected{input.height, input.width, input.channels};
  if (image.size == expected && std::ssize(image.values) == expected.values())
    return {patches_of(image, input.patch, input.step(), input.class_token), std::nullopt};
  return {{},
          fmt::format("the image is {}, but the model reads images of {}", image.size.describe(),
                      expected.describe())};
}

}  // namespace sixfold
