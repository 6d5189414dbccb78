#pragma once
#include <string>
#include <vector>

#include "program/plot/svg.h"

namespace sixfold {

/// A quantity in a picture by `dots_svg`, with a value for each name. Values that are not finite are not drawn.
struct DotPanel {
  std::string title;  ///< with its unit
  std::vector<double> values;
  int digits = 1;  ///< after the decimal point of the values that are printed beside the dots
  std::vector<double> deviations = {};  ///< each is drawn as a line to both sides of the dot; empty: none
  std::vector<std::string> texts = {};  ///< printed instead of the values; empty: the values
};

/// Draws a row for each name and, side by side, a panel for each quantity, in which a dot shows the value. The
/// axes of the panels begin near their smallest value. Throws an input error if there are no names or panels,
/// if a panel has another number of values, deviations or texts, or if no value is finite.
std::string dots_svg(const std::string& title, const std::vector<std::string>& names,
                     const std::vector<DotPanel>& panels, Theme theme = Theme::automatic);

}  // namespace sixfold
