#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoint.h"
#include "train/distributed/processes.h"
#include "train/run_folder.h"
#include "train/task.h"

namespace sixfold {

/// Returns what happens if a key ("train.minutes") has another value on resume. Knows the trainer's keys and
/// asks the task for its own.
OnResume on_resume(const TaskConfig& config, std::string_view key);

/// Returns the options of a run. Names of input files are absolute, so that they are valid in any working
/// directory.
OptionNode run_options(const TaskConfig& config);

/// Returns the changes between the options `before`, with which the run was last trained, and the options
/// `now`, with which it is resumed. Both have the form of `TaskConfig::options`. `update`: the update of the
/// changes. Throws an input error that names all keys that have changed but must not. `start.model` in `now` is
/// set to its old value, unless it is the base of adapters, which may have moved (start.lora_merge).
std::vector<TrainingChange> changed_options(const TaskConfig& config, OptionNode before, OptionNode& now,
                                            int64_t update);

/// Returns the checkpoint to resume from; empty if the run has to start from the beginning. Throws an input
/// error if there is a run and `resume` is false, if all checkpoints of the run are missing, or if the newest
/// is damaged (the message then names the newest intact one). Collective: the root chooses the checkpoint, and
/// all processes must be able to read the same files.
std::string checkpoint_to_resume(const TaskConfig& config, const RunFolder& folder,
                                 const Checkpoints& checkpoints, bool resume, Processes& processes);

/// The best model that a run's folder holds.
struct StoredBest {
  int64_t update = -1;  ///< -1: the folder holds none
  std::string metric;   ///< the score by which it is the best; empty: not known
  double value = 0;     ///< value of that score
  std::string changes;  ///< changes during the run until then (`changes_text`)
};
/// Reads the folder `best` of a run.
StoredBest read_stored_best(const std::string& best);

/// Handles a best model that was stored after the newest checkpoint. If the run has not been changed since,
/// nothing is done, because the run will make the same model again. If it has been changed, the stored model
/// stays the best so far, and `state` is set accordingly. Only the root reads the folder.
void keep_later_best(TrainingState& state, const std::string& best, Processes& processes);

/// Adds to the plan of `state` the plans that the run's log has after `state.log_bytes`, so that a run that was
/// killed ends as if it had not been. Collective: the root reads the log.
void add_logged_plan(TrainingState& state, const std::string& log, Processes& processes);

/// The state in which a run starts or resumes.
struct RunStart {
  TrainingState state;
  bool limits_changed =
      true;  ///< the limits of the run have changed, so that the last update must be planned again
  bool parts_changed = false;             ///< data.micro_batch_tokens has changed
  bool teacher_changed = false;           ///< teacher.model has changed
  std::vector<std::string> changes = {};  ///< a line for each changed option, to be logged when the run goes on
};

/// Reads the state of a checkpoint and applies all changes to it: changed options, another processor, a missing
/// best model. Throws as `changed_options`, and throws an input error for another instruction
/// set unless `other_processor` is set.
RunStart resume_from(const std::string& checkpoint, const RunFolder& folder, const TaskConfig& config,
                     bool other_processor);

}  // namespace sixfold
