#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold::cli {

/// Adds an option whose value is read, checked and written as that of a key of a config, with the same
/// messages. `flags`: "--seed", or "-n,--samples". A list of texts is an option that may be given several
/// times; any other list is written a,b. The help shows the range if it has two bounds,
/// and the default unless it ends with a text about that in brackets. The value outlives the command.
CLI::Option* add_value_option(CLI::App& command, const std::string& flags, OptionValue value,
                              const std::string& help, const Range& range);
template <class T>
requires(!std::is_same_v<T, OptionValue>) CLI::Option* add_value_option(CLI::App& command,
                                                                        const std::string& flags, T& value,
                                                                        const std::string& help,
                                                                        const Range& range = {}) {
  return add_value_option(command, flags, OptionValue(value), help, range);
}

/// Which fields of a struct are options of a command.
struct FieldChoice {
  std::vector<std::string_view> only = {};    ///< empty: all
  std::vector<std::string_view> except = {};  ///< not these
  /// The flags of a field, where they are others than its name: "-n,--samples" of samples.
  std::vector<std::pair<std::string_view, std::string>> flags = {};
  std::vector<std::pair<std::string_view, Range>> ranges = {};  ///< instead of those of the fields
  std::string prefix = {};  ///< what the names of options begin with: "chrf-"
  bool switches = false;    ///< a field that is true or false is an option without a value, which makes it true
};

/// Adds an option for each field of a struct, with its text and range: --max-tokens for max_tokens. The struct
/// outlives the command.
void add_field_options(CLI::App& command, OptionVisitor::AnyOptions options, const FieldChoice& choice = {});
/// The same for settings that are stored with a model: `given` gets those that were given, a map that
/// `read_options` reads over the model's own.
void add_override_options(CLI::App& command, OptionVisitor::AnyOptions settings, OptionNode& given,
                          const FieldChoice& choice = {});

}  // namespace sixfold::cli
