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

/// Which weights of an attention map are drawn as lines.
struct AttentionLines {
  std::vector<int> heads;  ///< counted from 0; empty: all heads
  std::string token;       ///< draw only the lines of rows with this token; empty: of all rows
};

/// Draws the weights as SVG in the form of figures 3 to 5 of the paper: the tokens of the rows on the left,
/// what they attend to on the right, and between them lines whose opacity is the weight. Each head has a panel;
/// if a token is given, all heads share one panel, in different colours. The token may be given without the
/// marks of tokenizers for spaces and word continuations (▁, Ġ, ##, @@). Throws an input error as
/// `attention_svg`, for a head that does not exist, and for a token that no row has.
std::string attention_lines_svg(const AttentionMap& map, const AttentionLines& lines);

}  // namespace sixfold
