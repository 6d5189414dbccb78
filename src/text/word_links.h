#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sixfold {

/// Links between the words (`word_ranges`) of a text and those of its translation, each counted from 0: pairs
/// of a source word and a target word.
using WordLinks = std::vector<std::pair<int, int>>;

/// The links in the Pharaoh format: "0-0 1-2".
std::string to_pharaoh(const WordLinks& links);

/// Links made by hand, of which some are sure and others possible (Och and Ney 2003, "A Systematic Comparison
/// of Various Statistical Alignment Models").
struct GoldLinks {
  WordLinks sure;
  WordLinks possible;  ///< without the sure ones
};

/// Reads links in the Pharaoh format, in which "1p2" stands for a possible link. Throws an input error for
/// anything else, and for a repeated link, that begins with `where`.
GoldLinks parse_word_links(std::string_view line, std::string_view where);

/// Throws an input error that begins with `where` if a link leads beyond the words of a pair.
void require_within(const WordLinks& links, size_t source_words, size_t target_words, std::string_view where);

}  // namespace sixfold
