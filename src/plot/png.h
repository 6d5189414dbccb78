#pragma once
#include <string>

namespace sixfold {

/// An SVG picture as PNG, `scale` pixels for one of the picture's. It is drawn by librsvg where that is
/// installed (looked for when it is needed); throws a world error where it is not.
std::string png_of_svg(const std::string& svg, double scale = 2);

}  // namespace sixfold
