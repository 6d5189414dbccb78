#pragma once
#include <string>
#include <vector>

#include "plot/svg.h"

namespace sixfold {

/// What each target piece attends to in the source, for every head of one layer.
struct AttentionMap {
  std::vector<std::string> source, target;  // pieces, UTF-8
  int heads = 1;
  std::vector<float> weights;  // [heads, target, source], each row summing to 1
  std::string title;
  std::string axes = "rows: target, columns: source";
  Theme theme = Theme::automatic;
};

/// The map as an SVG picture: a heat map for each head and, before them, one of their mean where there are
/// several; source pieces are columns, target pieces rows. Each cell tells its weight when the pointer rests on
/// it. Throws an input error for an empty side, a wrong number of weights, or a weight outside [0, 1].
std::string attention_svg(const AttentionMap& map);

}  // namespace sixfold
