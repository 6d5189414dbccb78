#pragma once
#include "tasks/kit/task_entry.h"

namespace sixfold {

/// The row of the table of tasks for models of embeddings, which are imported and not trained.
TaskEntry embedding_entry();

}  // namespace sixfold
