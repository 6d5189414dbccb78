#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

/// The fewest insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, where no
/// letter is touched twice (Damerau-Levenshtein, restricted).
int edit_distance(std::string_view a, std::string_view b);

/// The candidate closest to a mistyped `name`, the first of equals; nothing when none is close enough to be
/// what was meant (more than a third of the longer name differs).
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

/// " (did you mean 'minutes'?)", or, with no candidate close by, " (known: a, b, c)": the end of an error
/// message.
std::string suggestion(std::string_view name, std::span<const std::string> candidates);

}  // namespace sixfold
