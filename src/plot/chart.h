#pragma once
#include <string>
#include <vector>

#include "plot/svg.h"

namespace sixfold {

/// A curve, or, as steps, a histogram whose i-th bar reaches from x[i] to x[i + 1].
struct Series {
  std::string name;
  std::vector<double> x, y;  ///< x rising; values that are not finite leave a gap
  int color = 0;             ///< 0 to 5
  bool dashed = false;
  bool steps = false;
};

/// One pair of axes.
struct Chart {
  std::string title;
  std::string x_label, y_label;  ///< with their units
  std::vector<Series> series;
  bool log_x = false, log_y = false;  ///< by powers of ten; what is not above 0 is left out
  bool from_zero = false;             ///< the y axis begins at 0
};

/// Charts side by side, each with its legend where it has several curves. Throws an input error where there is
/// nothing to draw, or a series has more of one coordinate than of the other.
std::string charts_svg(const std::string& title, const std::vector<Chart>& charts,
                       Theme theme = Theme::automatic);

/// Round numbers that divide [low, high] into some `wanted` parts, all within it.
std::vector<double> ticks(double low, double high, int wanted);

}  // namespace sixfold
