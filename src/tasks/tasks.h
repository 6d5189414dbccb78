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
  /// Converts the options of a config; `where` is named in messages. Throws an input error that names the key,
  /// and the file and line or the assignment.
  std::unique_ptr<TaskConfig> (*config_of)(OptionNode options, const std::string& where);
  /// Returns every key with its default and its description.
  OptionNode (*default_options)();
};

/// Returns all tasks, at least one. The first is the one of configs without the key `task`. To add a task, add
/// a line to the table in tasks.cc (CONTRIBUTING.md, "To add a task").
std::span<const TaskEntry> tasks();

/// Returns the task of that name. Throws an input error that begins with `where` if there is none.
const TaskEntry& task_of(std::string_view name, const std::string& where);

/// Reads CONFIG.yaml, or the config.json of a run, applies the `--set` assignments, and converts it by the task
/// that its key `task` names. Throws an input error that names the key, and the file and line or the
/// assignment.
std::unique_ptr<TaskConfig> read_task_config(const std::string& path,
                                             const std::vector<std::string>& assignments);
/// The same for options that have been parsed already; `where` is named in messages.
std::unique_ptr<TaskConfig> task_config_of(OptionNode options, const std::string& where);

}  // namespace sixfold
