#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/kit/task_entry.h"

namespace sixfold {

/// The tasks of Sixfold. The first is the default of training configs without the key `task`. To add a task,
/// add an entry to the table in tasks.cc (CONTRIBUTING.md, "To add a task").
Tasks builtin_tasks();

/// Returns the task of that name, or null.
const TaskEntry* find_task(std::string_view name, Tasks tasks = builtin_tasks());
/// Returns the task of that name, whose models can be trained. Throws an input error that begins with `where`
/// if there is no such task, or if its models can't be trained.
const TaskEntry& trained_task(std::string_view name, const std::string& where, Tasks tasks = builtin_tasks());

/// Reads CONFIG.yaml, or the config.json of a run, applies the `--set` assignments, and converts the result to
/// a config of the task that the key `task` names. If the config sets no sizes, they are chosen
/// (`choose_sizes`) and logged. `run`: the folder of a run, which keeps its sizes if it has already begun.
/// Throws an input error that names the key, and the file and line or the assignment.
std::unique_ptr<TaskConfig> read_task_config(const std::string& path,
                                             const std::vector<std::string>& assignments,
                                             Tasks tasks = builtin_tasks(), const std::string& run = {});
/// The same for options that have been parsed already; `where`: the name of their origin in messages.
std::unique_ptr<TaskConfig> task_config_of(OptionNode options, const std::string& where,
                                           Tasks tasks = builtin_tasks(), const std::string& run = {});

}  // namespace sixfold
