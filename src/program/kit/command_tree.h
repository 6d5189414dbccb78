#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sixfold::cli {

/// An option of a command, as the parser knows it. Completion and manual pages are made from it.
struct OptionEntry {
  std::vector<std::string> names;   ///< "-o", "--output"; empty for a positional argument
  std::string argument;             ///< "FILE", or "text|json"; empty for a flag
  std::vector<std::string> values;  ///< the possible values of the argument, if it is one of a list of names
  std::string help, default_text;
  bool required = false, positional = false;
};

/// A command with its options and subcommands.
struct CommandEntry {
  std::string name;  ///< "sixfold plot attention"
  std::string help, footer, group;
  std::vector<OptionEntry> options;
  std::vector<CommandEntry> commands;
};

/// The tree of commands of a parser. `prefix` is the name of the parent command.
CommandEntry command_tree(const CLI::App& app, const std::string& prefix = {});

}  // namespace sixfold::cli
