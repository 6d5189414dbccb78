#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "cli/command_tree.h"
#include "cli/commands.h"
#include "model/ownership.h"

namespace sixfold::cli {
namespace {

/// Text escaped for roff: no line begins with a request, and hyphens of options stay ASCII.
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
      text += fmt::format("\\fB{}\\fR \\fI{}\\fR\n", roff(option.names.back()), roff(option.argument));
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
  if (!option.default_text.empty()) help += fmt::format(" [{}]", option.default_text);
  return fmt::format(".TP\n{}\n{}\n", names, roff(help));
}

std::string page_of(const CommandEntry& command) {
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
  if (!command.footer.empty()) text += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(command.footer));
  return text +
         ".SH EXIT STATUS\n0 for success, 2 for an error in the input (the message says where), 1 for any "
         "other failure, 128 + N if signal N ended the command.\n";
}

void write_pages(const CommandEntry& command, const std::string& folder) {
  write_file_atomically(folder + "/" + page_name(command) + ".1", page_of(command));
  for (const CommandEntry& inner : command.commands) write_pages(inner, folder);
}

}  // namespace

void add_man(CLI::App& app) {
  const auto folder = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("man", "Write a manual page for each command");
  command.add_option("folder", *folder, "folder to write to, e.g. /usr/local/share/man/man1")
      ->type_name("DIR")
      ->required();
  command.footer("Example:\n  sixfold man ~/.local/share/man/man1 && man sixfold-train");
  command.callback([&app, folder] {
    require_outside_runs(*folder);
    std::error_code failure;
    std::filesystem::create_directories(*folder, failure);
    if (failure) throw_environment_error("can't create the folder {}: {}", *folder, failure.message());
    write_pages(command_tree(app), *folder);
  });
}

}  // namespace sixfold::cli
