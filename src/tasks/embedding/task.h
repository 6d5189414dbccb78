#pragma once
#include "tasks/kit/task_entry.h"

namespace sixfold {

/// The entry of this task in the table of tasks. Its models are imported and not trained.
TaskEntry embedding_entry();

}  // namespace sixfold
