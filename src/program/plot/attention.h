#pragma once
#include <string>
#include <vector>

#include "program/plot/svg.h"

namespace sixfold {

/// The attention weights of the target tokens to the source tokens, for every head of one layer.
struct AttentionMap {
  std::vector<std::string> source, target;  // tokens, UTF-8
  int heads = 1;
  std::vector<float> weights;  // [heads, target, source], each row summing to 1
  std::string title;
  std::string axes = "rows: target, columns: source";
  Theme theme = Theme::automatic;
};

/// Draws the weights as SVG: a heat map for each head and, if there are several, one of their mean before them.
/// Source tokens are columns, target tokens rows. The tooltip of a cell shows its weight. Throws an input error
/// for an empty side, a wrong number of weights, or a weight outside [0, 1].
std::string attention_svg(const AttentionMap& map);
/// Throws as `attention_svg`.
void check_attention(const AttentionMap& map);

}  // namespace sixfold
