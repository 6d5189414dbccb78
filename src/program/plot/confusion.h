#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "program/plot/svg.h"

namespace sixfold {

/// How often each class was predicted for each true class.
struct ConfusionMap {
  std::vector<std::string> labels;  // UTF-8
  std::vector<int64_t> counts;      // [true class, predicted class]
  std::string title;
  Theme theme = Theme::automatic;
};

/// Draws the counts as SVG: a row for each true class, a column for each predicted one. The shade of a cell is
/// its share of the row. Throws an input error if there is no label, or for a wrong number of counts.
std::string confusion_svg(const ConfusionMap& map);

}  // namespace sixfold
