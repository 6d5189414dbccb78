#pragma once
#include <string>
#include <vector>

#include "program/plot/svg.h"

namespace sixfold {

/// A curve or, with `steps`, a histogram whose i-th bar extends from x[i] to x[i + 1].
struct Series {
  std::string name;
  std::string note = {};     ///< stands in brackets after the name
  std::vector<double> x, y;  ///< x is increasing; values that are not finite leave a gap
  int color = 0;             ///< index of the colour; 6 are distinct
  int dash = 0;              ///< index of the pattern of the line, of which 0 is solid; 4 are distinct
  bool steps = false;

  /// Gives the number-th of many curves a colour and a pattern; the first 24 differ.
  void set_style(size_t number) {
    color = static_cast<int>(number % 6);
    dash = static_cast<int>(number / 6 % 4);
  }
};

/// One pair of axes.
struct Chart {
  std::string title;
  std::string x_label, y_label;  ///< labels of the axes, with units
  std::vector<Series> series;
  bool log_x = false, log_y = false;  ///< logarithmic axes; values that are not positive are omitted
  bool from_zero = false;             ///< whether the y axis begins at 0
};

/// Draws charts side by side as SVG, each with a legend if it has several curves. Where curves coincide, their
/// colours alternate along the line, and the legend says so. Throws an input error if
/// there is nothing to draw, or if x and y of a series differ in length.
std::string charts_svg(const std::string& title, const std::vector<Chart>& charts,
                       Theme theme = Theme::automatic);

}  // namespace sixfold
