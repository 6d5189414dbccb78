#pragma once
#include <string>
#include <vector>

#include "program/plot/attention.h"

namespace sixfold {

/// What is drawn of an attention map as lines.
struct AttentionLines {
  std::vector<int> heads;  ///< from 0; empty: all
  std::string token;       ///< lines of the rows with this token alone; empty: of all
};

/// Draws the weights as SVG in the form of figures 3 to 5 of the paper: the tokens of the rows on the left,
/// what they attend to on the right, and between them lines that are the stronger the larger a weight is. Each
/// head has a panel; with a token all heads share one, in colours. The mark of a space or of a word that goes
/// on (▁, Ġ, ##, @@) need not be given with a token. Throws an input error as `attention_svg`, for a head that
/// is not there, and for a token that no row has.
std::string attention_lines_svg(const AttentionMap& map, const AttentionLines& lines);

}  // namespace sixfold
