#pragma once
#include <string>
#include <vector>

#include "program/plot/svg.h"

namespace sixfold {

/// The attention of the tokens of a caption over the patches of a picture.
struct PatchMap {
  std::string png;            ///< the picture
  int height = 0, width = 0;  ///< in pixels
  int patch = 0, stride = 0;  ///< in pixels: the side of a patch, and the distance from one patch to the next
  std::vector<std::string> tokens;  ///< UTF-8
  std::vector<float> weights;       ///< [tokens, patches], patches by rows; each row sums to at most 1
  std::string title;
  Theme theme = Theme::automatic;
};

/// Draws the picture as SVG, and once more for each token, covered by a veil that is the more transparent the
/// larger the weights are. The clearest place of each panel has its largest weight, which is written beside the
/// token. The weight of a patch is distributed evenly over its pixels, so that the weights of overlapping
/// patches add up. The tooltip of a place shows its share of the weight. Throws an input error if the patches
/// do not fit the picture, if there is no token, for a wrong number of weights, or a weight outside [0, 1].
std::string patches_svg(const PatchMap& map);

}  // namespace sixfold
