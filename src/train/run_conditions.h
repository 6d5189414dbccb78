#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "train/task.h"

namespace sixfold {

/// Something besides the settings of a run that its result depends on. The number of threads is not one
/// (docs/same-bits.md).
struct Condition {
  std::string_view name;   ///< in the style of a key: "instruction_set"
  std::string_view title;  ///< human-readable: "the instruction set"
  /// The keys of the config that determine it, or groups of keys, which end with a dot. Runs whose settings
  /// differ in one of them may differ in the condition. Keys of a group that may change during a run do not
  /// determine it.
  std::vector<std::string_view> stated_by;
};

/// A run can be resumed on another instruction set only by request (`TrainRequest::other_processor`).
inline constexpr std::string_view instruction_set_condition = "instruction_set";

/// The training text, which is known only for runs that have begun.
inline constexpr std::string_view text_condition = "text";

/// All conditions.
const std::vector<Condition>& conditions();

/// The known conditions of a run, by name.
using RunConditions = std::map<std::string, std::string, std::less<>>;

/// The conditions of the run in a folder: those of its model if it has finished with this config
/// (`is_finished`); otherwise those of its newest checkpoint, with the changes that resuming would make; or, if
/// there is no checkpoint, those of a run that begins now. None if its files are damaged, which training
/// reports.
RunConditions conditions_of(const TaskConfig& config, const std::string& run, bool finished);

/// The condition `text_condition` of a run that would begin now. Reads the files of the text. Empty if one
/// can't be read, or if the task has no text.
std::string text_condition_of_new_run(const TaskConfig& config);

/// A hash of the files of data.valid as they are now; empty if one can't be read, or if there are none.
std::string validation_text_of(const TaskConfig& config);

/// The conditions in which two runs differ although their configs do not differ in the keys that determine
/// these conditions. Conditions that are not known for both runs are left out.
std::vector<const Condition*> unstated_differences(const TaskConfig& first_config, const RunConditions& first,
                                                   const TaskConfig& second_config,
                                                   const RunConditions& second);

}  // namespace sixfold
