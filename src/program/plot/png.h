#pragma once
#include <string>
#include <vector>

namespace sixfold {

/// Converts an SVG picture to PNG, with `scale` pixels for each pixel of the picture. librsvg draws it; the
/// library is loaded at the first call. Throws an environment error if it is not installed.
std::string png_of_svg(const std::string& svg, double scale = 2);

/// The characters in the picture's texts that no installed font has, each once; `png_of_svg` draws boxes for
/// them. Returns none if fontconfig is not installed.
std::vector<std::string> characters_without_font(const std::string& svg);

}  // namespace sixfold
