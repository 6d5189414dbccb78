#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/join.h"
#include "program/commands.h"
#include "program/kit/command_tree.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/tasks.h"

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

/// The names of a command's options, or of those that take an argument.
std::vector<std::string> option_names(const CommandEntry& command, bool with_argument_only = false) {
  std::vector<std::string> names;
  for (const OptionEntry& option : command.options)
    if (!with_argument_only || !option.argument.empty())
      names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// "data.max_length=", ...: the keys of a training config.
void add_keys(const OptionNode& node, const std::string& prefix, std::vector<std::string>& keys) {
  for (const auto& [name, child] : node.children) {
    if (child.kind == OptionNode::Kind::map)
      add_keys(child, prefix + name + ".", keys);
    else
      keys.push_back(prefix + name + "=");
  }
}

/// The values of an argument, or their prefixes, such as "train.updates=". Empty for a file or a number.
std::vector<std::string> values_of(const OptionEntry& option, Tasks tasks) {
  if (std::ranges::find(option.names, "--set") == option.names.end()) return option.values;
  std::vector<std::string> keys;
  for (const TaskEntry& task : tasks)
    if (task.is_trained()) add_keys(task.default_options(), "", keys);
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
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

/// One case of the bash function: the subcommands of a command, its options, those that take an argument, and
/// the values of its positional argument.
std::string bash_case(const CommandEntry& command, Tasks tasks) {
  std::string words;
  for (const OptionEntry& option : command.options)
    if (option.positional) words += join(values_of(option, tasks), " ");
  return fmt::format("    '{}') commands='{}' options='{}' takers='{}' words='{}' ;;\n", path_of(command),
                     join(names_of(command.commands), " "), join(option_names(command), " "),
                     join(option_names(command, true), " "), words);
}

std::string bash_values(const CommandEntry& command, Tasks tasks) {
  std::string cases;
  for (const OptionEntry& option : command.options) {
    const std::vector<std::string> values = values_of(option, tasks);
    if (values.empty()) continue;
    std::string names;
    for (const std::string& name : option.names)
      names += fmt::format("{}'{} {}'", names.empty() ? "" : " | ", path_of(command), name);
    if (!names.empty()) cases += fmt::format("    {}) words='{}' ;;\n", names, join(values, " "));
  }
  return cases;
}

// If the function finds no completion, bash completes file names itself, including those with spaces.
constexpr std::string_view bash_function = R"(_sixfold() {
  local current=${COMP_WORDS[COMP_CWORD]} path='' option='' commands options takers words word i
  [[ $current == '=' ]] && current=''
  _sixfold_command ''
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == '=' ]]; then
      continue
    elif [[ $option ]]; then
      option=''
    elif [[ $word == -* ]]; then
      [[ " $takers " == *" $word "* ]] && option=$word
    elif [[ " $commands " == *" $word "* ]]; then
      path=${path:+$path }$word
      _sixfold_command "$path"
    fi
  done
  if [[ $option ]]; then
    words=''
    _sixfold_values "$path $option"
  elif [[ $current == -* ]]; then
    words=$options
  elif [[ $commands ]]; then
    words=$commands
  fi
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _sixfold sixfold
)";

std::string bash_script(const CommandEntry& program, Tasks tasks) {
  std::string commands, values;
  each_command(program, [&](const CommandEntry& command) {
    commands += bash_case(command, tasks);
    values += bash_values(command, tasks);
  });
  return fmt::format(
      "# Completion of sixfold in bash: source <(sixfold completion bash)\n"
      "_sixfold_command() {{\n  case \"$1\" in\n{}  esac\n}}\n_sixfold_values() {{\n  case \"$1\" in\n{}  "
      "esac\n}}\n{}",
      commands, values, bash_function);
}

/// Help as the description of a zsh option: on one line, with zsh's special characters escaped.
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

/// The zsh action that completes the argument of an option.
std::string zsh_action(const OptionEntry& option, Tasks tasks) {
  const std::vector<std::string> values = values_of(option, tasks);
  if (values.empty()) return "_files";
  const bool are_prefixes = values[0].ends_with('=');
  return are_prefixes ? fmt::format("{{compadd -S \"\" -- {}}}", join(values, " "))
                      : fmt::format("({})", join(values, " "));
}

std::string zsh_script(const CommandEntry& program, Tasks tasks) {
  std::string functions;
  each_command(program, [&](const CommandEntry& command) {
    std::string name = "_" + command.name;
    for (char& c : name)
      if (c == ' ' || c == '-') c = '_';
    functions += fmt::format("{}() {{\n", name == "_sixfold" ? "_sixfold_program" : name);
    std::string arguments, positional_action = "_files";
    for (const OptionEntry& option : command.options) {
      if (option.positional && !option.values.empty()) positional_action = zsh_action(option, tasks);
      for (const std::string& one : option.names)
        arguments += fmt::format(" \\\n    '*{}[{}]{}'", one, zsh_text(option.help),
                                 option.argument.empty() ? ""
                                                         : fmt::format(":{}:{}", zsh_text(option.argument),
                                                                       zsh_action(option, tasks)));
    }
    if (command.commands.empty()) {
      functions += fmt::format("  _arguments{} \\\n    '*:argument:{}'\n}}\n", arguments, positional_action);
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

std::string fish_script(const CommandEntry& program, Tasks tasks) {
  std::string text = "# Completion of sixfold in fish: sixfold completion fish | source\n";
  each_command(program, [&](const CommandEntry& command) {
    const std::string path = path_of(command);
    std::string condition = "__fish_use_subcommand";
    if (!path.empty()) {
      condition.clear();
      for (const std::string& word : CLI::detail::split(path, ' '))
        condition += (condition.empty() ? "" : "; and ") + std::string("__fish_seen_subcommand_from ") + word;
    }
    std::string without_subcommand = condition;
    if (!path.empty() && !command.commands.empty())
      without_subcommand += "; and not __fish_seen_subcommand_from " + join(names_of(command.commands), " ");
    for (const CommandEntry& inner : command.commands)
      text += fmt::format("complete -c sixfold -f -n '{}' -a {} -d '{}'\n", without_subcommand,
                          inner.name.substr(inner.name.rfind(' ') + 1), fish_text(inner.help));
    for (const OptionEntry& option : command.options) {
      const std::string values = join(values_of(option, tasks), " ");
      if (option.positional && !values.empty())
        text += fmt::format("complete -c sixfold -f -n '{}' -a '{}'\n", condition, values);
      if (option.names.empty()) continue;
      text += fmt::format("complete -c sixfold -n '{}'", condition);
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      const std::string argument = option.argument.empty() ? ""
                                   : values.empty()        ? " -r"
                                                           : fmt::format(" -x -a '{}'", values);
      text += fmt::format(" -d '{}'{}\n", fish_text(option.help), argument);
    }
  });
  return text;
}

std::string script_for(Shell shell, const CommandEntry& tree, Tasks tasks) {
  switch (shell) {
    case Shell::bash:
      return bash_script(tree, tasks);
    case Shell::zsh:
      return zsh_script(tree, tasks);
    case Shell::fish:
      return fish_script(tree, tasks);
  }
  throw_unknown("shell", shell);
}

void run(const CLI::App& program, Tasks tasks, Shell shell) {
  const CommandEntry tree = command_tree(program);
  TextOutput output("-");
  output.write(script_for(shell, tree, tasks));
  output.close();
}

}  // namespace

void add_completion(CLI::App& app, Tasks tasks) {
  const auto shell = std::make_shared<Shell>();
  CLI::App& command =
      *app.add_subcommand("completion", "Write a script that completes commands and options in a shell");
  add_value_option(command, "shell", *shell, "bash, zsh or fish")->required();
  command.footer("Example:\n  source <(sixfold completion bash)");
  command.callback([&app, shell, tasks] { run(app, tasks, *shell); });
}

}  // namespace cli
}  // namespace sixfold
