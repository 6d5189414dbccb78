#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "train/task.h"

namespace sixfold {

/// What decides the result of a run besides its settings. Numbers of threads do not (docs/same-bits.md).
struct Condition {
  std::string_view name;  ///< as options have it: "instruction_set"
  std::string_view title;
  /// The keys that state it, or groups of keys, which end with a dot. Runs whose settings differ in one of them
  /// may differ in the condition. Keys of a group that may change during a run state nothing.
  std::vector<std::string_view> stated_by;
};

/// Of another one, a run can be resumed by request (`TrainRequest::other_processor`).
inline constexpr std::string_view instruction_set_condition = "instruction_set";

/// The training text, which is known of runs that have begun.
inline constexpr std::string_view text_condition = "text";

/// All conditions.
const std::vector<Condition>& conditions();

/// The conditions of a run, by name, as far as they are known.
using RunConditions = std::map<std::string, std::string, std::less<>>;

/// The conditions of the run in a folder: those of its model if it has finished with this config
/// (`is_finished`); those of its newest checkpoint, with what resuming would change; or else those of a run
/// that begins now. None if its files are damaged, which training reports.
RunConditions conditions_of(const TaskConfig& config, const std::string& run, bool finished);

/// The condition `text_condition` of a run that would begin now, whose files are read. Empty if one can't be
/// read, or if the task has no text.
std::string text_condition_of_new_run(const TaskConfig& config);

/// The conditions in which two runs differ although their configs do not differ in keys that state them.
/// Conditions that are not known of both are left out.
std::vector<const Condition*> unstated_differences(const TaskConfig& first_config, const RunConditions& first,
                                                   const TaskConfig& second_config,
                                                   const RunConditions& second);

}  // namespace sixfold
