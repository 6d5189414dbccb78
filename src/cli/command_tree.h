#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sixfold::cli {

/// What the program understands, read off its parser: the same tables make --help, completion and man pages.
struct OptionEntry {
  std::vector<std::string> names;   ///< "-o", "--output"; none of a positional argument
  std::string argument;             ///< "FILE", or "text|json"; empty for a flag
  std::vector<std::string> values;  ///< what the argument can be, where it is one of some names
  std::string help, default_text;
  bool required = false, positional = false;
};

struct CommandEntry {
  std::string name;  ///< "sixfold plot attention"
  std::string help, footer, group;
  std::vector<OptionEntry> options;
  std::vector<CommandEntry> commands;
};

CommandEntry command_tree(const CLI::App& app, const std::string& prefix = {});

}  // namespace sixfold::cli
