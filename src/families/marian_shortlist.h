#pragma once
#include <string>
#include <vector>

#include "model_folder/shortlist.h"
#include "text/tokenizers.h"

namespace sixfold {

/// Reads a shortlist of Marian. `option` is its option --shortlist: a file, and for a text the number of
/// frequent target tokens (100), that of translations of a token (100), and the probability above which a
/// translation counts (0). The file is binary (lex.s2t.bin), or a text, perhaps gzipped, whose lines have a
/// target token, a source token and a probability (lex.s2t). A sentence is translated as by Marian in a batch
/// that contains only this sentence. Throws an input error that names the file and what is wrong.
Shortlist read_marian_shortlist(const std::vector<std::string>& option, const Tokenizers& tokenizers);

}  // namespace sixfold
