#pragma once
#include "serve/models.h"

namespace sixfold::serve {

/// The tasks that the server knows.
ServedTasks builtin_served_tasks();

}  // namespace sixfold::serve
