#pragma once
#include <atomic>

namespace sixfold::cli {

/// From now on Ctrl-C, SIGTERM and SIGHUP are noted here instead of ending the process; a second one ends it at
/// once: files are whole at any moment.
const std::atomic<int>& note_interrupts();

/// Throws `Cancelled` where one was noted, so that nothing half written stays.
void check_interrupt();

/// The exit status of a process that such a signal ended: 128 and its number.
int interrupt_status();

}  // namespace sixfold::cli
