#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold::cli {

/// Adds an option whose value is parsed and checked in the same way, and with the same messages, as the value
/// of a config key. `flags`: "--seed", or "-n,--samples". A list of texts is an option that may be given
/// several times; any other list is written a,b. The help shows the range if it has two bounds, and the default
/// unless `help` ends with a text in brackets that describes it. `value` must outlive the command.
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
  std::vector<std::string_view> except = {};  ///< fields that are left out
  /// The flags of fields whose option has another name: "-n,--samples" for samples.
  std::vector<std::pair<std::string_view, std::string>> flags = {};
  std::vector<std::pair<std::string_view, Range>> ranges = {};  ///< replace the ranges of fields
  std::string prefix = {};  ///< what the names of options begin with: "chrf-"
  bool switches = false;    ///< boolean fields become flags without a value, which set them to true
};

/// Adds an option for each field of a struct, with its help and range: --max-tokens for max_tokens. The struct
/// must outlive the command.
void add_field_options(CLI::App& command, OptionVisitor::AnyOptions options, const FieldChoice& choice = {});
/// The same for settings that are stored with a model. The settings given on the command line are added to the
/// map `given`, from which `read_options` reads them over those of the model.
void add_override_options(CLI::App& command, OptionVisitor::AnyOptions settings, OptionNode& given,
                          const FieldChoice& choice = {});

}  // namespace sixfold::cli
