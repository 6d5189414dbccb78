#pragma once
#include "base/random.h"
#include "formats/image.h"

namespace sixfold {

/// Random changes of an image in training.
struct Augmentation {
  bool flip = false;  ///< mirror it from left to right in half of the cases
  int shift = 0;    ///< shift it by up to this many pixels in each direction; the uncovered pixels become black
  int cut_out = 0;  ///< fill a square of this many pixels on a side with grey (DeVries and Taylor 2017)
};

/// Returns the image with random changes, which are drawn from `random`.
Image augmented(const Image& image, const Augmentation& options, RandomStream& random);

}  // namespace sixfold
