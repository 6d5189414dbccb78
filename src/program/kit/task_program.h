#pragma once
#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace sixfold::cli {

/// Adds one command, with its options, help and an example, to the program. The command runs in its callback
/// and throws `Error` on failure; `run` turns that into the exit status.
using AddCommand = std::function<void(CLI::App& app)>;

/// The commands of the program, in the groups of its help.
class Commands {
 public:
  enum Group { make, use, exchange, evaluate, help };
  void add(Group group, std::initializer_list<AddCommand> commands) {
    groups_[group].insert(groups_[group].end(), commands);
  }
  /// Adds all commands, in the order of the groups.
  void add_to(CLI::App& app) const;

 private:
  std::array<std::vector<AddCommand>, help + 1> groups_;
};

/// What a task adds to the program: a row of the table in src/program/tables.cc.
struct TaskProgram {
  std::string_view name;  ///< of the task
  void (*add_commands)(Commands& commands);
};

/// The commands that each task adds to the program, in src/tasks.
TaskProgram translation_program();
TaskProgram language_model_program();
TaskProgram masked_language_model_program();
TaskProgram classification_program();
TaskProgram image_captioning_program();
TaskProgram question_answering_program();
TaskProgram embedding_program();

}  // namespace sixfold::cli
