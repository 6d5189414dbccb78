#pragma once
#include <string>

#include "train/state.h"
#include "train/task.h"

namespace sixfold {

/// Returns the entry of a training run in a model's history (model_folder/provenance.h), as JSON: settings,
/// data, updates, and best score.
std::string provenance_step(const Task& task, const TrainOptions& options, const TrainingState& state);

}  // namespace sixfold
