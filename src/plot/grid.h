#pragma once
#include <string>
#include <vector>

#include "plot/svg.h"

namespace sixfold {

/// A table of numbers from -1 to 1, as colours: one colour for those above 0, another for those below.
struct GridMap {
  std::string title, row_label, column_label;
  int64_t rows = 0, columns = 0;
  std::vector<float> values;          ///< [rows, columns]
  std::vector<int64_t> column_names;  ///< what the axis calls them; none: 0, 1, 2, ...
  Theme theme = Theme::automatic;
};

/// The table as an SVG picture, a cell for each number. Throws an input error for an empty table or a wrong
/// number of values.
std::string grid_svg(const GridMap& map);

}  // namespace sixfold
