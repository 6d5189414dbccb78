#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/image.h"
#include "model/layers/patch_embedding.h"

namespace sixfold {

/// The encoder input of an image.
struct ImageValues {
  std::vector<int32_t> ids;          ///< the values of its patches
  std::optional<std::string> error;  ///< why there are none: the image has another size than the model reads
};

/// Cuts an image into the patches that a model reads.
ImageValues image_values(const Image& image, const ImageInput& input);

}  // namespace sixfold
