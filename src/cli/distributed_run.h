#pragma once
#include <functional>

#include "distributed/processes.h"

namespace sixfold::cli {

/// Runs `work` on all processes that a launcher of MPI has started, or on the only one, and returns its exit
/// status. Only the root writes progress and warnings to standard error. If a process fails, all end: the error
/// is printed once, with the process and its host.
int on_all_processes(const std::function<int(Processes&)>& work);

/// Whether this process should print an error that all processes have, before they know each other.
bool speaks_for_all();

}  // namespace sixfold::cli
