#pragma once
#include <string>
#include <vector>

#include "program/plot/attention.h"

namespace sixfold {

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
