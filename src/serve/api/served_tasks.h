#pragma once
#include "serve/models.h"

namespace sixfold::serve {

/// The tasks whose models can be served, with their routes.
ServedTasks builtin_served_tasks();

}  // namespace sixfold::serve
