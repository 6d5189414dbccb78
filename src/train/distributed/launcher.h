#pragma once
#include <string>

#include "train/distributed/transport.h"

namespace sixfold {

/// The number of this process among those that a launcher such as mpirun or srun has started together, from its
/// environment variables; -1 if there is no launcher.
int launched_rank();
/// The number of these processes; 1 if there is no launcher.
int launched_processes();

/// Opens the transport between the processes. Throws an environment error if the module for MPI or the MPI
/// library is missing. Call once; the object lives as long as the process.
Transport& open_transport();

}  // namespace sixfold
