#pragma once
#include <cstdint>
#include <vector>

#include "formats/image.h"

namespace sixfold {

/// Cuts an image into squares of `patch` pixels, `stride` pixels apart, and returns their values, 0 to 255:
/// patch by patch in the order of reading, in each row by row (Dosovitskiy et al. 2021). Pixels at the right
/// and at the bottom that do not fill a patch are left out. With `class_token`, the values begin with a row of
/// zeros for the class token.
std::vector<int32_t> patches_of(const Image& image, int patch, int stride, bool class_token = false);

}  // namespace sixfold
