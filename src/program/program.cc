#include "program/program.h"

#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "backend/backend.h"
#include "base/error.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/options.h"
#include "base/threads.h"
#include "families/families.h"
#include "model_folder/require_model_folder.h"
#include "program/commands.h"
#include "program/kit/distributed_run.h"
#include "program/kit/interrupt.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {
namespace {

enum ExitStatus { exit_success = 0, exit_failure = 1, exit_usage = 2 };

std::string version() {
#ifdef __clang__
  const char* compiler = "clang " __clang_version__;
#else
  const char* compiler = "gcc " __VERSION__;
#endif
  return fmt::format("sixfold {} ({}, {})\nprocessor: {}; threads: {}", SIXFOLD_VERSION, compiler,
                     SIXFOLD_BUILD_TYPE, describe_processor(), available_threads());
}

/// Makes options refuse empty values, which usually come from an unset variable of a script. Only options whose
/// value is a text accept them.
void refuse_empty_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    refuse_empty_values(*command);
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.empty() || type.starts_with(text_type_name)) continue;
    const bool names_file = type == "FILE" || type == "DIR" || type == "MODEL";
    option->check([names_file](const std::string& value) -> std::string {
      if (!value.empty()) return {};
      return names_file ? "the name is empty; name a file or folder"
                        : "the value is empty; give one, or leave it out";
    });
  }
}

void add_commands(CLI::App& app, const ProgramTables& tables) {
  app.set_version_flag("--version", version, "Print version, compiler, processor and number of threads");
  app.require_subcommand(1);
  const Tasks tasks = tables.tasks;
  const auto with_tasks = [&](auto add) { return [add, tasks](CLI::App& a) { add(a, tasks); }; };
  Commands commands;
  commands.add(Commands::make,
               {add_demo_corpus, add_demo_images, add_demo_questions, with_tasks(add_check), add_corpus,
                with_tasks(add_train), add_dashboard, with_tasks(add_sweep), add_average, add_quantize});
  for (const TaskProgram& task : tables.programs) task.add_commands(commands);
  commands.add(Commands::use, {[served = tables.served](CLI::App& a) { add_serve(a, served); }, add_tokenize});
  commands.add(Commands::exchange, {add_import, add_export});
  commands.add(Commands::evaluate,
               {add_evaluate, add_score, with_tasks(add_info), with_tasks(add_plot), add_bench});
  commands.add(Commands::help, {with_tasks(add_completion), with_tasks(add_man)});
  commands.add_to(app);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (const std::string& name = command->get_name(); name != "train" && name != "translate")
      command->preparse_callback([name](size_t) { require_one_process(name); });
  refuse_empty_values(app);
  app.footer(
      "Each command has its own --help with an example. Without any data to begin with:\n"
      "  sixfold demo-corpus --output demo/corpus\n"
      "  sixfold train recipes/demo.yaml --output run\n"
      "  sixfold translate run/model --input demo/corpus/test.en | sixfold evaluate --reference "
      "demo/corpus/test.de\n"
      "The folder recipes/ is that of the repository; where Sixfold is installed it is in share/sixfold.");
}

/// The innermost command on the command line that was recognized, or the program itself if there was none.
const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

/// "sixfold plot attention"
std::string full_name(const CLI::App& command) {
  return (command.get_parent() ? full_name(*command.get_parent()) + " " : "") + command.get_name();
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// Describes an error in the command line. An unexpected argument is reported before the parser's own message,
/// since it is often the cause: a mistyped option leaves its value as an extra argument.
std::string error_text(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(app);
  const auto unknown = [](const char* kind, const std::string& name, const std::vector<std::string>& known) {
    const auto suggestion = nearest(name, known);
    return fmt::format("unknown {} {}{}", kind, name,
                       suggestion ? fmt::format("; did you mean {}?", *suggestion) : "");
  };
  const std::vector<std::string> extras = app.remaining(true);
  for (const std::string& extra : extras)
    if (extra.starts_with("-") && extra.size() > 1)
      return unknown("option", extra.substr(0, extra.find('=')), names_of_options(command));
  if (extras.empty()) return error.what();
  const auto commands = names_of_commands(command);
  if (!commands.empty()) return unknown("command", extras.front(), commands);
  return fmt::format("unexpected argument '{}'", extras.front());
}

ExitStatus parse_and_run(CLI::App& app, int argc, char** argv) {
  if (argc < 2) {
    error_prefix_after_root();  // the root is not ended before it has printed the help
    if (prints_for_all()) std::cerr << app.help();
    return exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    if (prints_for_all()) app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    const std::string prefix = error_prefix_after_root();
    error_line(
        fmt::format("{}{}\nsee {} --help", prefix, error_text(app, error), full_name(chosen_command(app))));
    return exit_usage;
  } catch (const NotAModelFolder& error) {
    const std::string advice = import_advice(error.path());
    throw Error(error.fault(), advice.empty() ? error.what() : advice);
  }
  flush_standard_output();
  return exit_success;
}

}  // namespace

int run(int argc, char** argv, const ProgramTables& tables) {
  try {
    CLI::App app{"Sixfold: a complete Transformer, from raw text to translations.", "sixfold"};
    add_commands(app, tables);
    return parse_and_run(app, argc, argv);
  } catch (const Cancelled&) {
    return interrupt_status();
  } catch (const Error& error) {
    // Input errors are usually those of all processes; others may concern one host only.
    const std::string prefix = error.fault() == Fault::input ? error_prefix_after_root() : "";
    error_line(prefix + error.what());
    return error.fault() == Fault::input ? exit_usage : exit_failure;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe)
      return exit_success;  // the reader of the output has closed the pipe
    error_line(error.what());
  } catch (const std::bad_alloc&) {
    error_line(
        "out of memory; use smaller batches (data.batch_tokens in training, --batch-tokens in "
        "translation) or a smaller model");
  } catch (const std::exception& error) {
    error_line(std::string(error.what()) + "; this should not happen, please report it");
  }
  return exit_failure;
}

}  // namespace sixfold::cli
