#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>

#include "base/join.h"
#include "base/options.h"

namespace sixfold::cli {

/// "text|json": the names of an enum, or of the elements of a list, for the help of an option.
template <class T>
std::string names_to_type() {
  if constexpr (std::is_enum_v<T>) {
    std::string names;
    for (const auto& [value, name] : EnumNames<T>::names)
      names += (names.empty() ? "" : "|") + std::string(name);
    return names;
  } else {
    return names_to_type<typename T::value_type>();
  }
}

/// Adds an option that takes one of an enum's names, or a list of them.
template <class T>
CLI::Option* add_named_option(CLI::App& command, const std::string& option, T& value, const std::string& help) {
  const auto parse = [option, &value](const std::string& text) {
    const OptionNode node{.kind = OptionNode::Kind::assigned, .text = text};
    read_value(OptionSource{node, option, {}}, value);
  };
  const auto text = [&value] { return value_text(node_of(value)); };
  return command.add_option_function<std::string>(option, parse, help)
      ->type_name(names_to_type<T>())
      ->default_function(text);
}

/// The same for names that are known only when the program runs.
inline CLI::Option* add_named_option(CLI::App& command, const std::string& option, ChosenNames& value,
                                     const std::string& help) {
  const auto parse = [option, &value](const std::string& text) {
    const OptionNode node{.kind = OptionNode::Kind::assigned, .text = text};
    read_value(OptionSource{node, option, {}}, value);
  };
  return command.add_option_function<std::string>(option, parse, help)->type_name(join(value.names, "|"));
}

/// A check that the text of an option is a number of type T within a range. Its message is that of a config's
/// reader: "--max-length: expected a whole number at least 0, found '-1'".
template <class T>
CLI::Validator number_in(Range range) {
  const auto check = [range](const std::string& text) -> std::string {
    const OptionNode node{.kind = OptionNode::Kind::assigned, .text = text};
    try {
      T value{};
      read_value(OptionSource{node, "", range}, value);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  return CLI::Validator(check, range.describe());
}

}  // namespace sixfold::cli
