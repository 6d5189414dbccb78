#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/task.h"

namespace sixfold {

/// An entry of the table of tasks: what `sixfold train` needs of a task.
struct TaskEntry {
  std::string_view name;
  /// Reads CONFIG.yaml, or the config.json of a run, and applies the `--set` assignments. Throws an input error
  /// that names the key, and the file and line or the assignment.
  std::unique_ptr<TaskConfig> (*read_config)(const std::string& path,
                                             const std::vector<std::string>& assignments);
  /// The same for options that have been parsed already; `where` is named in messages.
  std::unique_ptr<TaskConfig> (*config_of)(OptionNode options, const std::string& where);
  /// Returns every key with its default and its description.
  OptionNode (*default_options)();
};

/// Returns all tasks, at least one. The first is the one that `sixfold train` trains. To add a task, add a line
/// to the table in tasks.cc (CONTRIBUTING.md, "To add a task").
std::span<const TaskEntry> tasks();

}  // namespace sixfold
