#include <fmt/format.h>

#include <memory>

#include "base/join.h"
#include "cli/command_tree.h"
#include "cli/commands.h"
#include "cli/named_option.h"
#include "cli/text_io.h"

namespace sixfold {

namespace cli {
enum class Shell { bash, zsh, fish };
}  // namespace cli

template <>
struct EnumNames<cli::Shell> {
  static constexpr std::pair<cli::Shell, std::string_view> names[] = {
      {cli::Shell::bash, "bash"}, {cli::Shell::zsh, "zsh"}, {cli::Shell::fish, "fish"}};
};

namespace cli {
namespace {

std::vector<std::string> long_names(const CommandEntry& command) {
  std::vector<std::string> names;
  for (const OptionEntry& option : command.options)
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name);
  return names;
}

std::vector<std::string> names_of(const std::vector<CommandEntry>& commands) {
  std::vector<std::string> names;
  for (const CommandEntry& command : commands)
    names.push_back(command.name.substr(command.name.rfind(' ') + 1));
  return names;
}

/// "train", "plot attention"
std::string path_of(const CommandEntry& command) {
  const size_t space = command.name.find(' ');
  return space == command.name.npos ? "" : command.name.substr(space + 1);
}

void each_command(const CommandEntry& command, const std::function<void(const CommandEntry&)>& use) {
  use(command);
  for (const CommandEntry& inner : command.commands) each_command(inner, use);
}

std::string bash_script(const CommandEntry& program) {
  std::string cases;
  each_command(program, [&](const CommandEntry& command) {
    cases += fmt::format("    '{}') commands='{}' options='{}' ;;\n", path_of(command),
                         join(names_of(command.commands), " "), join(long_names(command), " "));
  });
  return fmt::format(R"(# Completion of sixfold in bash: source <(sixfold completion bash)
_sixfold() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} path='' commands='' options='' word i
  _sixfold_of() {{
    commands='' options=''
    case "$1" in
{}    esac
  }}
  _sixfold_of ''
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${{COMP_WORDS[i]}}
    [[ " $commands " == *" $word "* ]] || continue
    path=${{path:+$path }}$word
    _sixfold_of "$path"
  done
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _sixfold sixfold
)",
                     cases);
}

/// Help as the text of a zsh option: one line, without what means something there.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    if (c == '\'')
      result += "'\\''";
    else
      result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string zsh_script(const CommandEntry& program) {
  std::string functions;
  each_command(program, [&](const CommandEntry& command) {
    std::string name = "_" + command.name;
    for (char& c : name)
      if (c == ' ' || c == '-') c = '_';
    functions += fmt::format("{}() {{\n", name == "_sixfold" ? "_sixfold_program" : name);
    std::string arguments;
    for (const OptionEntry& option : command.options)
      for (const std::string& one : option.names)
        arguments += fmt::format(" \\\n    '{}[{}]{}'", one, zsh_text(option.help),
                                 option.argument.empty() ? "" : ":" + zsh_text(option.argument) + ":_files");
    if (command.commands.empty()) {
      functions += fmt::format("  _arguments{} \\\n    '*:file:_files'\n}}\n", arguments);
      return;
    }
    functions += fmt::format(
        "  local line state\n  _arguments -C{} \\\n    '1:command:->command' '*::arg:->rest'\n", arguments);
    functions += "  case $state in\n    command) local -a commands=(";
    for (const CommandEntry& inner : command.commands)
      functions +=
          fmt::format("\n      '{}:{}'", inner.name.substr(inner.name.rfind(' ') + 1), zsh_text(inner.help));
    functions += "\n      ); _describe command commands ;;\n    rest) case $line[1] in\n";
    for (const CommandEntry& inner : command.commands) {
      std::string inner_name = "_" + inner.name;
      for (char& c : inner_name)
        if (c == ' ' || c == '-') c = '_';
      functions += fmt::format("      {}) {} ;;\n", inner.name.substr(inner.name.rfind(' ') + 1), inner_name);
    }
    functions += "      esac ;;\n  esac\n}\n";
  });
  return "#compdef sixfold\n# Completion of sixfold in zsh: sixfold completion zsh > DIR/_sixfold, DIR being "
         "of $fpath\n" +
         functions + "_sixfold_program \"$@\"\n";
}

std::string fish_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string fish_script(const CommandEntry& program) {
  std::string text = "# Completion of sixfold in fish: sixfold completion fish | source\n";
  each_command(program, [&](const CommandEntry& command) {
    const std::string path = path_of(command);
    std::string condition = "__fish_use_subcommand";
    if (!path.empty()) {
      condition.clear();
      for (const std::string& word : CLI::detail::split(path, ' '))
        condition += (condition.empty() ? "" : "; and ") + std::string("__fish_seen_subcommand_from ") + word;
    }
    std::string none_yet = condition;
    if (!path.empty() && !command.commands.empty())
      none_yet += "; and not __fish_seen_subcommand_from " + join(names_of(command.commands), " ");
    for (const CommandEntry& inner : command.commands)
      text += fmt::format("complete -c sixfold -f -n '{}' -a {} -d '{}'\n", none_yet,
                          inner.name.substr(inner.name.rfind(' ') + 1), fish_text(inner.help));
    for (const OptionEntry& option : command.options) {
      if (option.names.empty()) continue;
      text += fmt::format("complete -c sixfold -n '{}'", condition);
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += fmt::format(" -d '{}'{}\n", fish_text(option.help), option.argument.empty() ? "" : " -r");
    }
  });
  return text;
}

void run(const CLI::App& program, Shell shell) {
  const CommandEntry tree = command_tree(program);
  TextOutput output("-");
  output.write(shell == Shell::bash  ? bash_script(tree)
               : shell == Shell::zsh ? zsh_script(tree)
                                     : fish_script(tree));
  output.close();
}

}  // namespace

void add_completion(CLI::App& app) {
  const auto shell = std::make_shared<Shell>();
  CLI::App& command =
      *app.add_subcommand("completion", "Write what makes a shell complete commands and options");
  add_named_option(command, "shell", *shell, "bash, zsh or fish")->required();
  command.footer("Example:\n  source <(sixfold completion bash)");
  command.callback([&app, shell] { run(app, *shell); });
}

}  // namespace cli
}  // namespace sixfold
