#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

/// The restricted Damerau-Levenshtein distance (optimal string alignment): the smallest number of insertions,
/// deletions, substitutions and transpositions of neighbours that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate closest to a mistyped `name` without regard to case, the first of several. Returns nothing if
/// none is close enough (more than a third of the longer name differs).
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

/// The end of an error message: " (did you mean 'minutes'?)", or " (known: a, b, c)" if no candidate is close.
std::string suggestion(std::string_view name, std::span<const std::string> candidates);

}  // namespace sixfold
