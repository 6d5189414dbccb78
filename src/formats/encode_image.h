#pragma once
#include <string>

#include "formats/image.h"

namespace sixfold {

/// Returns the image as a PNG file. Throws an input error if its values do not fit its size.
std::string encode_png(const Image& image);

}  // namespace sixfold
