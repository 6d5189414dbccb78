#pragma once
#include <functional>
#include <string>

#include "train/distributed/processes.h"

namespace sixfold::cli {

/// Runs `work` on all processes that a launcher of MPI has started, or on the only one, and returns its exit
/// status. Only the root writes progress and warnings to standard error; at the end it adds the warnings that
/// only others had. If a process fails, all end: the error is printed once, with the process and its host. All
/// must run the same command.
int on_all_processes(const std::string& command, const std::function<int(Processes&)>& work);

/// Throws an input error if several processes were started together for a command that is for one.
void require_one_process(const std::string& command);

/// Whether this process should print an error that all processes have, before they know each other.
bool speaks_for_all();

/// The same for an error that ends the process: returns at once on the root. Other processes have three seconds
/// to be ended by the launcher, because the root had the same error; else this returns "process 2: ", since it
/// was not the same.
std::string let_root_speak();

}  // namespace sixfold::cli
