#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "base/options.h"

namespace sixfold::cli {

/// Adds an option that takes one of an enum's names, or a list of them.
template <class T>
CLI::Option* add_named_option(CLI::App& command, const std::string& option, T& value, const std::string& help) {
  const auto parse = [option, &value](const std::string& text) {
    const OptionNode node{.kind = OptionNode::Kind::assigned, .text = text};
    read_value(OptionSource{node, option, {}}, value);
  };
  return command.add_option_function<std::string>(option, parse, help)->type_name("NAME");
}

}  // namespace sixfold::cli
