#pragma once
#include <string>
#include <vector>

#include "program/plot/svg.h"

namespace sixfold {

/// A table of numbers from -1 to 1 to be drawn as colours: one colour for positive numbers, another for
/// negative ones.
struct GridMap {
  std::string title, row_label, column_label;
  int64_t rows = 0, columns = 0;
  std::vector<float> values;          ///< [rows, columns]
  std::vector<int64_t> column_names;  ///< numbers on the axis; empty: 0, 1, 2, ...
  Theme theme = Theme::automatic;
};

/// Draws the table as SVG, with a cell for each number. Throws an input error for an empty table or a wrong
/// number of values.
std::string grid_svg(const GridMap& map);

}  // namespace sixfold
