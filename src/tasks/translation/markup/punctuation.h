#pragma once
#include <cstddef>
#include <string_view>

namespace sixfold {

/// The number of characters of a text if all of them are punctuation, else 0.
int punctuation_count(std::string_view text);

/// Moves `begin` over at most `max_count` punctuation characters, but not as far as `end`.
size_t skip_punctuation(std::string_view text, size_t begin, size_t end, int max_count);

/// Moves `end` back over at most `max_count` punctuation characters, but not as far as `begin`.
size_t skip_punctuation_back(std::string_view text, size_t begin, size_t end, int max_count);

/// Moves `end` back over marks that end a sentence or a clause, in any script, and quotation marks and closing
/// brackets beside them. Leaves it as it is if there is no such mark or nothing before them. Full stops count
/// only if `with_full_stops`.
size_t skip_final_marks_back(std::string_view text, size_t begin, size_t end, bool with_full_stops);

/// A text from its first character on that is neither in a tag nor markup of emphasis.
std::string_view behind_markup(std::string_view text);
/// The same up to its last such character.
std::string_view before_markup(std::string_view text);

}  // namespace sixfold
