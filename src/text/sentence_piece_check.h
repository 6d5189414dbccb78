#pragma once
#include <string>
#include <string_view>

namespace sixfold {

/// Checks what SentencePiece's own loader does not check: complete protobuf fields, both specifications
/// present, pieces of well-formed UTF-8 with finite scores, and normalization tables without pointers out of
/// bounds. Throws an input error if a check fails. `origin` names the file in errors.
void check_sentence_piece_model(std::string_view model, const std::string& origin);

}  // namespace sixfold
