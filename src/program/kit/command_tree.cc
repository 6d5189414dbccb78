#include "program/kit/command_tree.h"

#include <algorithm>
#include <cctype>

namespace sixfold::cli {
namespace {

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  entry.positional = option.get_positional();
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (option.get_expected_max() > 0 && option.get_type_size() > 0)
    entry.argument =
        entry.positional && option.get_type_name().empty() ? option.get_name() : option.get_type_name();
  // A name in capitals is a placeholder, not a value.
  if (std::ranges::none_of(entry.argument, [](unsigned char c) { return std::isupper(c); }))
    entry.values = CLI::detail::split(entry.argument, '|');
  if (entry.argument.empty()) entry.values.clear();
  entry.help = option.get_description();
  entry.default_text = option.get_default_str();
  entry.required = option.get_required();
  return entry;
}

}  // namespace

CommandEntry command_tree(const CLI::App& app, const std::string& prefix) {
  CommandEntry entry;
  entry.name = (prefix.empty() ? "" : prefix + " ") + app.get_name();
  entry.help = app.get_description();
  entry.footer = app.get_footer();
  entry.group = app.get_group();
  for (const CLI::Option* option : app.get_options()) entry.options.push_back(entry_of(*option));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    entry.commands.push_back(command_tree(*command, entry.name));
  return entry;
}

}  // namespace sixfold::cli
