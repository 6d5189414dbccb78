#pragma once
#include "train/distributed/transport.h"

// What the module sixfold_mpi.so exports. It belongs to the program of the same build.

extern "C" {
/// Starts MPI. Returns null and a reason if that fails. The object is never destroyed.
sixfold::Transport* sixfold_open_mpi(const char** problem);
/// The version of the program to which the module belongs.
const char* sixfold_mpi_version();
}
