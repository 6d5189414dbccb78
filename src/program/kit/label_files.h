#pragma once
#include <string>
#include <vector>

namespace sixfold::cli {

/// Throws an input error if the predicted labels are names but the reference is an IDX file, whose labels are
/// numbers, so that no prediction could be right. `hypothesis` and `reference` are the files' names as the user
/// gave them; "-" is standard input.
void refuse_names_beside_numbers(const std::vector<std::string>& predicted, const std::string& hypothesis,
                                 const std::string& reference);

}  // namespace sixfold::cli
