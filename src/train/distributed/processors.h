#pragma once
#include "train/distributed/processes.h"

namespace sixfold {

/// Collective. The number of threads that this process can run at once: `available_threads`, divided among the
/// processes of this host that may run on the same processors.
int available_threads(Processes& processes);

}  // namespace sixfold
