#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoint.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace sixfold {

/// What becomes of a key of the config that is not, on resume, what it was when the run began.
enum class OnResume {
  takes_effect,  ///< it holds from the next update on; the change is said and recorded
  ignored,       ///< it has no part in what is computed: threads, and files that are read when a run begins
  refused,       ///< the run would no longer be one run
};

/// The table of all keys ("train.minutes"). Keys that it does not name are refused.
OnResume on_resume(std::string_view key);

/// What changed between the options that a run was last trained with and those that it is resumed with, as
/// changes at `update`. Throws an input error that names all keys that may not change. `ignored` keys come back
/// as they were.
std::vector<TrainingChange> changed_options(const TrainOptions& before, TrainOptions& now, int64_t update);

/// The checkpoint to go on from; empty where the run has to begin. Throws an input error where a run is there
/// and `resume` is not asked for, where all its checkpoints are gone, and where the newest is damaged (it then
/// says which older one is whole).
std::string checkpoint_to_resume(const RunFolder& folder, const Checkpoints& checkpoints, bool resume);

/// The update whose model a run's `best` folder holds; -1 where it holds none.
int64_t stored_best_update(const std::string& best);

/// Where a run begins or goes on.
struct RunStart {
  TrainingState state;
  bool stops_changed = true;   ///< the end of the run has to be worked out again
  bool parts_changed = false;  ///< other parts of batches are asked for
};

/// The state of the checkpoint, and in it all that is changed from here on: options, processor, a best model
/// that is gone. Each is said. Throws as `changed_options`, and for another instruction set unless that is
/// accepted.
RunStart resume_from(const std::string& checkpoint, const RunFolder& folder, TrainOptions& options,
                     const TrainRequest& request);

}  // namespace sixfold
