#pragma once
#include <functional>
#include <string>

#include "train/distributed/processes.h"

namespace sixfold::cli {

/// Runs `work` on all processes that an MPI launcher has started, or on the only process, and returns the exit
/// status. Only the root (rank 0) writes progress and warnings to standard error; at the end it also writes the
/// warnings that only other processes had. If a process fails, all processes end, and the error is printed
/// once, with the rank and the host. All processes must run the same command.
int on_all_processes(const std::string& command, const std::function<int(Processes&)>& work);

/// Throws an input error if a launcher has started several processes for a command that runs on one process.
void require_one_process(const std::string& command);

/// Whether this process prints what all processes would print, before they are connected: it is the root, or
/// the only process.
bool prints_for_all();

/// Call this before an error is printed that ends the process before the processes are connected; returns the
/// prefix of its message. On the root returns an empty text at once. On other processes waits for 15 seconds,
/// in which the launcher ends the process if the root had the same error; otherwise the error is not common,
/// and the prefix is "process 2: ". Without the wait, the launcher could end the root before that has printed
/// its error.
std::string error_prefix_after_root();

}  // namespace sixfold::cli
