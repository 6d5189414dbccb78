#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "model_folder/ownership.h"
#include "program/commands.h"
#include "program/kit/command_tree.h"
#include "serve/config.h"
#include "tasks/tasks.h"

namespace sixfold::cli {
namespace {

/// Text escaped for roff, so that no line begins with a request, and hyphens of options stay ASCII.
std::string roff(const std::string& text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    line_begins = c == '\n';
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

/// "sixfold-plot-attention"
std::string page_name(const CommandEntry& command) {
  std::string name = command.name;
  for (char& c : name)
    if (c == ' ') c = '-';
  return name;
}

std::string synopsis(const CommandEntry& command) {
  std::string text = fmt::format(".B {}\n", roff(command.name));
  for (const OptionEntry& option : command.options)
    if (option.required && !option.positional)
      text += fmt::format("\\fB{}\\fR \\fI{}\\fR\n", roff(option.names.front()), roff(option.argument));
  text += "[\\fIoptions\\fR]\n";
  for (const OptionEntry& option : command.options)
    if (option.positional) text += fmt::format("\\fI{}\\fR\n", roff(option.argument));
  if (!command.commands.empty()) text += "\\fIcommand\\fR ...\n";
  return text;
}

std::string option_paragraph(const OptionEntry& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += (names.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", roff(name));
  if (!option.argument.empty())
    names += (names.empty() ? "" : " ") + fmt::format("\\fI{}\\fR", roff(option.argument));
  std::string help = option.help;
  const std::string standard = fmt::format("[{}]", option.default_text);
  if (!option.default_text.empty() && !help.ends_with(standard)) help += " " + standard;
  return fmt::format(".TP\n{}\n{}\n", names, roff(help));
}

std::string key_paragraph(const ListedOption& key) {
  return fmt::format(".TP\n\\fB{}\\fR = {}\n{}\n", roff(key.key), roff(key.value),
                     key.help.empty() ? "no description" : roff(key.help));
}

/// The keys of a config, with a subsection for each group.
std::string key_sections(const std::vector<ListedOption>& keys) {
  std::string text;
  for (const ListedOption& key : keys)
    text += key.value.empty() ? fmt::format(".SS {}\n{}\n", roff(key.key), roff(key.help)) : key_paragraph(key);
  return text;
}

/// The keys of a task that are not those of the first task, or have another default or description.
std::string other_keys(std::string_view task, const std::vector<ListedOption>& keys,
                       const std::vector<ListedOption>& of_first) {
  std::string text = fmt::format(".SS The task {}\nIts keys are those above, except these:\n", task);
  for (const ListedOption& key : keys)
    if (!key.value.empty() && std::ranges::find(of_first, key) == of_first.end()) text += key_paragraph(key);
  std::vector<std::string> missing;  // a missing group is listed without its keys
  for (const ListedOption& key : of_first)
    if (std::ranges::find(keys, key.key, &ListedOption::key) == keys.end() &&
        (missing.empty() || !key.key.starts_with(missing.back() + ".")))
      missing.push_back(key.key);
  if (!missing.empty()) text += fmt::format(".PP\nIt does not have {}.\n", roff(join(missing)));
  return text;
}

std::string training_keys(Tasks all) {
  const std::vector<ListedOption> first = listed_options(all.front().default_options());
  std::string text = fmt::format(
      ".SH CONFIG KEYS\nA training config is a file in YAML, or in JSON if its name ends in .json. In the file "
      "the keys of a\ngroup are indented below its name; here and for \\-\\-set a dot joins them. Each key is "
      "shown "
      "with its default.\nThe first ones are those of the task {}.\n{}",
      all.front().name, key_sections(first));
  for (const TaskEntry& task : all.subspan(1))
    if (task.is_trained()) text += other_keys(task.name, listed_options(task.default_options()), first);
  return text;
}

std::string server_keys() {
  return ".SH SETTINGS\nThe file of \\-\\-config has these keys, in YAML, or in JSON if its name ends in "
         ".json. Each is "
         "shown with its default.\n" +
         key_sections(listed_options(write_options(serve::ServeConfig())));
}

/// The sections of a page that do not come from the parser of the command: the keys of its config.
std::string config_sections(const std::string& command, Tasks tasks) {
  if (command == "sixfold train") return training_keys(tasks);
  if (command == "sixfold serve") return server_keys();
  return "";
}

std::string page_of(const CommandEntry& command, Tasks tasks) {
  std::string text =
      fmt::format(".TH \"{}\" 1 \"\" \"sixfold {}\" \"Sixfold\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}",
                  roff(page_name(command)), SIXFOLD_VERSION, roff(page_name(command)), roff(command.help),
                  synopsis(command));
  if (!command.commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandEntry& inner : command.commands)
      text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff(page_name(inner)), roff(inner.help));
  }
  text += ".SH OPTIONS\n";
  for (const OptionEntry& option : command.options) text += option_paragraph(option);
  text += config_sections(command.name, tasks);
  if (!command.footer.empty()) text += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(command.footer));
  return text +
         ".SH EXIT STATUS\n0 for success, 2 for an error in the input (the message says where), 3 if "
         "check has found something, 1 for any other failure, 128 + N if signal N ended the command.\n";
}

void write_pages(const CommandEntry& command, Tasks tasks, const std::string& folder) {
  write_file_atomically(folder + "/" + page_name(command) + ".1", page_of(command, tasks));
  for (const CommandEntry& inner : command.commands) write_pages(inner, tasks, folder);
}

}  // namespace

void add_man(CLI::App& app, Tasks tasks) {
  const auto folder = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("man", "Write a manual page for each command");
  command.add_option("folder", *folder, "folder to write to, e.g. /usr/local/share/man/man1")
      ->type_name("DIR")
      ->required();
  command.footer("Example:\n  sixfold man ~/.local/share/man/man1 && man sixfold-train");
  command.callback([&app, folder, tasks] {
    require_outside_runs(*folder);
    std::error_code failure;
    std::filesystem::create_directories(*folder, failure);
    if (failure) throw_environment_error("can't create the folder {}: {}", *folder, failure.message());
    write_pages(command_tree(app), tasks, *folder);
  });
}

}  // namespace sixfold::cli
