#pragma once
#include <string>
#include <string_view>

namespace sixfold {

/// Throws unless `model` is well formed as far as SentencePiece's own loader takes it on trust: whole protobuf
/// fields, both specifications present, pieces of well-formed UTF-8 with finite scores, and tables of
/// normalisation that never point outside themselves. `origin` names the file in errors.
void check_sentence_piece_model(std::string_view model, const std::string& origin);

}  // namespace sixfold
