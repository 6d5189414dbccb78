#pragma once
#include <string>
#include <vector>

namespace sixfold {

/// An SVG picture as PNG, `scale` pixels for one of the picture's. It is drawn by librsvg where that is
/// installed (looked for when it is needed); throws an environment error where it is not.
std::string png_of_svg(const std::string& svg, double scale = 2);

/// The characters of the picture's texts that no installed font has, each once; `png_of_svg` draws boxes for
/// them. None where fontconfig, which tells of fonts, is not installed.
std::vector<std::string> characters_without_font(const std::string& svg);

}  // namespace sixfold
