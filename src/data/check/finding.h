#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// How bad it is what a check has found.
enum class Severity {
  warning,  ///< training will learn less than it could, or a figure will say less than it seems to
  error,    ///< training can't learn what is meant
};

template <>
struct EnumNames<Severity> {
  static constexpr std::pair<Severity, std::string_view> names[] = {{Severity::warning, "warning"},
                                                                    {Severity::error, "error"}};
};

/// Something in the data or the settings of a run that a person should look at before it starts.
struct Finding {
  std::string id;  ///< its kind, for scripts: "languages-swapped"
  Severity severity = Severity::warning;
  std::string text;                   ///< what was found and where, why it matters, and what to do about it
  std::vector<std::string> examples;  ///< at most `most_examples`: "train.en:17: A dog runs. | Ein Hund läuft."
};

inline constexpr size_t most_examples = 3;

/// A text in one line of an example: at most 120 characters, without control characters.
std::string as_example(std::string_view text);

/// A list of objects with the members of a finding.
std::string to_json_text(std::span<const Finding> findings);
/// The findings for people, one paragraph each.
std::string to_text(std::span<const Finding> findings);

}  // namespace sixfold
