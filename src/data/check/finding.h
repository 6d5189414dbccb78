#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// How serious the problem is that a check has found.
enum class Severity {
  warning,  ///< the model will learn less than it could, or a score will be misleading
  error,    ///< the model can't learn its task from these data
};

template <>
struct EnumNames<Severity> {
  static constexpr std::pair<Severity, std::string_view> names[] = {{Severity::warning, "warning"},
                                                                    {Severity::error, "error"}};
};

/// A problem in the data or the settings of a run that the user should examine before the run starts.
struct Finding {
  std::string id;  ///< its kind, for scripts: "languages-swapped"
  Severity severity = Severity::warning;
  std::string text;                   ///< what was found and where, why it matters, and what to do about it
  std::vector<std::string> examples;  ///< at most `max_examples`: "train.en:17: A dog runs. | Ein Hund läuft."
};

inline constexpr size_t max_examples = 3;

/// A text as one line of an example: at most 120 characters. Those that can't be seen are named: "<U+00A0>".
std::string as_example(std::string_view text);

/// A list of objects with the members of a finding.
std::string to_json_text(std::span<const Finding> findings);
/// The findings as human-readable text, one paragraph each.
std::string to_text(std::span<const Finding> findings);

}  // namespace sixfold
